//! Reading the TOML file.
//!
//! The parsed document is walked by hand rather than deserialized: every unknown key and bad value is found in one
//! pass, each with its line.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::Problem;
use super::load::Draft;
use super::nearest::nearest;
use super::source::{Place, Source};
use super::table::{self, OptionSpec};
use super::value::Input;

/// Reads the file and sets every option it mentions.
pub fn read(path: &Path, draft: &mut Draft) {
    match std::fs::read_to_string(path) {
        Ok(text) => read_text(File { path, text: &text }, draft),
        Err(reason) => draft.problems.push(Problem::Unreadable { file: path.to_owned(), reason }),
    }
}

/// A file in memory.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// Where it was read from, for messages.
    pub path: &'a Path,
    /// What it says.
    pub text: &'a str,
}

impl File<'_> {
    fn place(&self, span: Range<usize>) -> Place {
        Place::of(span.start, self.text, self.path)
    }
}

/// Sets every option that `file` mentions.
pub fn read_text(file: File<'_>, draft: &mut Draft) {
    let (document, mut errors) = DeTable::parse_recoverable(file.text);
    errors.sort_by_key(|error| error.span().unwrap_or_default().start);
    for error in &errors {
        let place = file.place(error.span().unwrap_or_default());
        draft.problems.push(Problem::Syntax { place, reason: error.message().to_owned() });
    }
    // What is left of a broken document would only repeat the same mistake in other words.
    if errors.is_empty() {
        read_table(file, document.get_ref(), draft);
    }
}

fn read_table(file: File<'_>, document: &DeTable<'_>, draft: &mut Draft) {
    let sections = &table::sections()[1..]; // the top level has no table of its own
    for (key, value) in in_order(document) {
        let section = sections.iter().find(|section| section.name == key.get_ref());
        match (section, value.get_ref()) {
            (Some(section), DeValue::Table(options)) => {
                for (key, value) in in_order(options) {
                    read_option(file, section.name, (key, value), draft);
                }
            }
            (Some(section), _) => {
                let place = file.place(key.span());
                draft.problems.push(Problem::NotASection { place, section: section.name });
            }
            (None, _) => read_option(file, "", (key, value), draft),
        }
    }
}

type Entry<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

/// The entries as the file has them: the parsed table sorts them by name.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Entry<'t, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn read_option(file: File<'_>, section: &str, (key, value): Entry<'_, '_>, draft: &mut Draft) {
    let place = file.place(key.span());
    let name = key.get_ref().as_ref();
    match table::options().iter().find(|option| option.section == section && option.name == name) {
        Some(option) => draft.set(option, input(file, value, &strings(value)), Source::File(place)),
        None => {
            let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            let nearest = meant(section, name);
            draft.problems.push(Problem::UnknownKey { place, path, nearest });
        }
    }
}

/// The strings of a list of nothing else.
fn strings<'a>(value: &'a Spanned<DeValue<'_>>) -> Option<Vec<&'a str>> {
    value.get_ref().as_array()?.iter().map(|item| item.get_ref().as_str()).collect()
}

fn input<'a>(
    file: File<'a>,
    value: &'a Spanned<DeValue<'_>>,
    strings: &'a Option<Vec<&'a str>>,
) -> Input<'a> {
    let other = Input::Other(file.text.get(value.span()).unwrap_or("a value of this kind"));
    match value.get_ref() {
        DeValue::String(text) => Input::String(text),
        DeValue::Boolean(value) => Input::Boolean(*value),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(other, Input::Integer)
        }
        _ => strings.as_deref().map_or(other, Input::Strings),
    }
}

/// What an unknown key may have been meant to be: the same name in another section, a name in its own section
/// that is alike, or a section that is alike.
fn meant(section: &str, name: &str) -> Option<String> {
    if let Some(option) = table::options().iter().find(|option| option.name == name) {
        return Some(described(option));
    }
    let beside = table::options().iter().filter(|option| option.section == section);
    let option = nearest(name, beside.map(|option| option.name)).map(str::to_owned);
    let at_the_top = section.is_empty();
    option.or_else(|| nearest_section(name).filter(|_| at_the_top))
}

fn nearest_section(name: &str) -> Option<String> {
    let sections = table::sections();
    nearest(name, sections.iter().map(|section| section.name)).map(|name| format!("[{name}]"))
}

fn described(option: &OptionSpec) -> String {
    match option.section {
        "" => format!("{} at the top of the file, before the first [section]", option.name),
        section => format!("{} under [{section}]", option.name),
    }
}
