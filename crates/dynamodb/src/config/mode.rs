//! Whether others would admit the same.
//!
//! Here, a level that is disabled disables all below it, and `bypass` comes after that. Others take the first level that says
//! anything, `disabled: false` included: an entity may be exempt from what is set on its resource. Such an exemption cannot be
//! said here, so an account that has one is refused as what it is: to guess would be to misread. A bypass of what is disabled
//! can, and is `disabled` here as ever; others let it pass, as they do.

use tidegate_ledger::Mode;

use crate::layout::scope::Read;

/// What is in force for others: the nearest level that says anything.
fn theirs(levels: [Option<&Read>; 3]) -> Option<Mode> {
    let said = levels.into_iter().flatten().find(|read| read.settings.mode.is_some() || read.is_enforced);
    said.and_then(|read| read.settings.mode)
}

/// What is in force here: the strictest.
fn ours(levels: [Option<&Read>; 3]) -> Option<Mode> {
    levels.into_iter().flatten().filter_map(|read| read.settings.mode).max()
}

/// What is in force for others, on the entity for the resource, on the entity, and on the resource. In words if they have an
/// exemption there that cannot be said here.
pub fn in_force(levels: [Option<&Read>; 3]) -> Result<Option<Mode>, String> {
    let (ours, theirs) = (ours(levels), theirs(levels));
    let is_ours = !levels.into_iter().flatten().any(|read| read.is_enforced);
    if ours == theirs || is_ours {
        return Ok(theirs);
    }
    let told = |mode: Option<Mode>| match mode {
        None => "enabled",
        Some(Mode::Bypass) => "bypassed",
        Some(Mode::Disabled) => "disabled",
    };
    Err(format!(
        "its levels say different things: it is {} for zae-limiter, which takes the nearest level, and {} for Tidegate, which \
         takes the strictest",
        told(theirs),
        told(ours)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_ledger::ScopeSettings;

    fn level(mode: Option<Mode>, is_enforced: bool) -> Option<Read> {
        Some(Read { settings: ScopeSettings { mode, ..ScopeSettings::default() }, is_enforced })
    }

    fn check(levels: [Option<Read>; 3]) -> Result<Option<Mode>, String> {
        in_force([levels[0].as_ref(), levels[1].as_ref(), levels[2].as_ref()])
    }

    #[test]
    fn levels_that_agree_are_in_force() {
        let (silent, disabled) = (|| level(None, false), || level(Some(Mode::Disabled), false));
        let (bypass, enforced) = (|| level(Some(Mode::Bypass), false), || level(None, true));
        assert_eq!(check([None, None, None]), Ok(None));
        assert_eq!(check([silent(), None, disabled()]), Ok(Some(Mode::Disabled)));
        assert_eq!(check([disabled(), None, enforced()]), Ok(Some(Mode::Disabled)));
        assert_eq!(check([None, bypass(), enforced()]), Ok(Some(Mode::Bypass)));
        assert_eq!(check([enforced(), silent(), enforced()]), Ok(None));
    }

    #[test]
    fn an_exemption_is_refused_and_a_bypass_is_not() {
        let disabled = || level(Some(Mode::Disabled), false);
        assert!(
            check([level(None, true), None, disabled()]).unwrap_err().contains("enabled for zae-limiter")
        );
        let bypass = || level(Some(Mode::Bypass), false);
        assert_eq!(check([bypass(), None, disabled()]), Ok(Some(Mode::Bypass)));
        let told = check([bypass(), level(None, true), disabled()]).unwrap_err();
        assert!(told.contains("bypassed for zae-limiter") && told.contains("disabled for Tidegate"));
    }
}
