//! Names and values of an expression. Names of limits hold signs that an expression does not, and many words are
//! reserved, so each name and each value has an alias.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// An update with its condition, as it grows.
#[derive(Clone, Debug, Default)]
pub struct Expression {
    names: HashMap<String, String>,
    aliases: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
    sets: Vec<String>,
    adds: Vec<String>,
    removes: Vec<String>,
    deletes: Vec<String>,
    conditions: Vec<String>,
}

impl Expression {
    /// Nothing yet.
    pub fn new() -> Expression {
        Expression::default()
    }

    /// The alias of an attribute's name.
    pub fn name(&mut self, attribute: &str) -> String {
        if let Some(alias) = self.aliases.get(attribute) {
            return alias.clone();
        }
        let alias = format!("#{}", self.names.len());
        self.names.insert(alias.clone(), attribute.into());
        self.aliases.insert(attribute.into(), alias.clone());
        alias
    }

    /// The alias of a value.
    pub fn value(&mut self, value: AttributeValue) -> String {
        let alias = format!(":{}", self.values.len());
        self.values.insert(alias.clone(), value);
        alias
    }

    /// Sets an attribute.
    pub fn set(&mut self, attribute: &str, value: AttributeValue) -> &mut Expression {
        let part = format!("{} = {}", self.name(attribute), self.value(value));
        self.sets.push(part);
        self
    }

    /// Sets an attribute that is not there.
    pub fn set_once(&mut self, attribute: &str, value: AttributeValue) -> &mut Expression {
        let name = self.name(attribute);
        let part = format!("{name} = if_not_exists({name}, {})", self.value(value));
        self.sets.push(part);
        self
    }

    /// Sets by an expression over aliases: `#0 = #1 + :0`.
    pub fn set_to(&mut self, part: String) -> &mut Expression {
        self.sets.push(part);
        self
    }

    /// Adds to a number or a set.
    pub fn add(&mut self, attribute: &str, value: AttributeValue) -> &mut Expression {
        let part = format!("{} {}", self.name(attribute), self.value(value));
        self.adds.push(part);
        self
    }

    /// Removes members of a set.
    pub fn delete(&mut self, attribute: &str, value: AttributeValue) -> &mut Expression {
        let part = format!("{} {}", self.name(attribute), self.value(value));
        self.deletes.push(part);
        self
    }

    /// Removes an attribute.
    pub fn remove(&mut self, attribute: &str) -> &mut Expression {
        let name = self.name(attribute);
        self.removes.push(name);
        self
    }

    /// Asks for this, over aliases, and for all else that is asked for.
    pub fn require(&mut self, condition: impl Into<String>) -> &mut Expression {
        self.conditions.push(condition.into());
        self
    }

    /// Asks that an attribute is this.
    pub fn require_equal(&mut self, attribute: &str, value: AttributeValue) -> &mut Expression {
        let condition = format!("{} = {}", self.name(attribute), self.value(value));
        self.require(condition)
    }

    /// Asks that an attribute is there.
    pub fn require_present(&mut self, attribute: &str) -> &mut Expression {
        let condition = format!("attribute_exists({})", self.name(attribute));
        self.require(condition)
    }

    /// Asks that an attribute is not there.
    pub fn require_absent(&mut self, attribute: &str) -> &mut Expression {
        let condition = format!("attribute_not_exists({})", self.name(attribute));
        self.require(condition)
    }

    /// Whether nothing is changed.
    pub fn is_idle(&self) -> bool {
        [&self.sets, &self.adds, &self.removes, &self.deletes].iter().all(|parts| parts.is_empty())
    }

    /// The update; none if nothing is changed.
    pub fn update(&self) -> Option<String> {
        let parts =
            [("SET", &self.sets), ("ADD", &self.adds), ("DELETE", &self.deletes), ("REMOVE", &self.removes)];
        let told = parts.iter().filter(|(_, parts)| !parts.is_empty());
        let told: Vec<String> = told.map(|(word, parts)| format!("{word} {}", parts.join(", "))).collect();
        (!told.is_empty()).then(|| told.join(" "))
    }

    /// The condition; none if nothing is asked for.
    pub fn condition(&self) -> Option<String> {
        match &self.conditions[..] {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(many.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" AND ")),
        }
    }

    /// The names behind aliases; none if there are none.
    pub fn names(&self) -> Option<HashMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    /// The values behind aliases; none if there are none.
    pub fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::attribute::number;

    #[test]
    fn an_expression_is_told_by_aliases() {
        let mut expression = Expression::new();
        expression.set("a.b", number(1)).add("n", number(2)).remove("r").set_once("a.b", number(3));
        expression.require_present("PK").require_equal("n", number(7));
        assert_eq!(
            expression.update().unwrap(),
            "SET #0 = :0, #0 = if_not_exists(#0, :2) ADD #1 :1 REMOVE #2"
        );
        assert_eq!(expression.condition().unwrap(), "(attribute_exists(#3)) AND (#1 = :3)");
        assert_eq!(expression.names().unwrap()["#0"], "a.b");
        assert_eq!(expression.values().unwrap().len(), 4);
    }

    #[test]
    fn nothing_is_told_as_nothing() {
        let mut expression = Expression::new();
        assert!(expression.is_idle());
        assert_eq!((expression.update(), expression.condition()), (None, None));
        assert_eq!((expression.names(), expression.values()), (None, None));
        expression.require_absent("PK");
        assert_eq!(expression.condition().unwrap(), "attribute_not_exists(#0)");
        assert!(expression.is_idle());
    }
}
