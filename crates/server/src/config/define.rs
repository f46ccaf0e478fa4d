//! The macro behind [`options`](super::options): a declaration becomes a struct and the rows that describe it.
//!
//! There is no serde here on purpose. Reading goes through [`Section::set`], one option at a time, so that a bad
//! value can name its line, variable or flag, and so that all mistakes are reported at once, not only the first.

use std::ops::RangeInclusive;

use super::value::{Input, Kind, Mismatch};

/// The numbers that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Bounds {
    /// Every number that TOML can write and that is not negative.
    pub const ANY: Bounds = Bounds { min: 0, max: i64::MAX as u64 };

    /// Bounds out of a range.
    pub fn within(self, range: RangeInclusive<u64>) -> Bounds {
        Bounds { min: *range.start().max(&self.min), max: *range.end().min(&self.max) }
    }

    /// Whether `number` is inside.
    pub fn hold(self, number: u64) -> bool {
        (self.min..=self.max).contains(&number)
    }
}

/// One option as its section declares it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name inside the section.
    pub name: &'static str,
    /// The doc comment, as the compiler hands it over.
    pub doc: &'static str,
    /// What the option can be.
    pub kind: Kind,
}

/// A nested section as its parent declares it.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The name of its table in the file.
    pub name: &'static str,
    /// The doc comment, as the compiler hands it over.
    pub doc: &'static str,
    /// Its options.
    pub rows: Vec<Row>,
}

/// A struct that `options!` made: its options by name.
pub trait Section {
    /// Every option, in the order of declaration.
    fn rows() -> Vec<Row>
    where
        Self: Sized;

    /// The sections inside this one, in the order of declaration.
    fn nested() -> Vec<Nested>
    where
        Self: Sized;

    /// The value of one option; `None` if it is unset or there is no such option.
    fn get(&self, name: &str) -> Option<toml::Value>;

    /// Gives one option a value.
    fn set(&mut self, name: &str, input: Input<'_>) -> Result<(), Mismatch>;

    /// A section inside this one.
    fn section(&self, name: &str) -> Option<&dyn Section>;

    /// A section inside this one, to change it.
    fn section_mut(&mut self, name: &str) -> Option<&mut dyn Section>;
}

/// Declares a section: `/// help`, `name: Type = default, bounds;`, and after the struct its nested `sections`.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        pub struct $Struct:ident {
            $(
                $(#[doc = $help:literal])+
                $name:ident : $Value:ty = $default:expr $(, $bounds:expr)?;
            )*
        }
        $(sections {
            $(
                $(#[doc = $section_help:literal])+
                $section:ident : $Section:ty = $section_default:expr;
            )*
        })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Struct {
            $( $(#[doc = $help])+ pub $name: $Value, )*
            $($( $(#[doc = $section_help])+ pub $section: $Section, )*)?
        }

        impl Default for $Struct {
            fn default() -> Self {
                Self { $( $name: $default, )* $($( $section: $section_default, )*)? }
            }
        }

        impl $crate::config::define::Section for $Struct {
            fn rows() -> Vec<$crate::config::define::Row> {
                vec![$($crate::config::define::Row {
                    name: stringify!($name),
                    doc: concat!($($help, "\n"),+),
                    kind: <$Value as $crate::config::value::Value>::kind(
                        $crate::config::define::Bounds::ANY$(.within($bounds))?,
                    ),
                }),*]
            }

            fn nested() -> Vec<$crate::config::define::Nested> {
                vec![$($($crate::config::define::Nested {
                    name: stringify!($section),
                    doc: concat!($($section_help, "\n"),+),
                    rows: <$Section as $crate::config::define::Section>::rows(),
                }),*)?]
            }

            fn get(&self, name: &str) -> Option<toml::Value> {
                match name {
                    $( stringify!($name) => $crate::config::value::Value::to_toml(&self.$name), )*
                    _ => None,
                }
            }

            fn set(
                &mut self,
                name: &str,
                input: $crate::config::value::Input<'_>,
            ) -> Result<(), $crate::config::value::Mismatch> {
                match name {
                    $( stringify!($name) => {
                        let bounds = $crate::config::define::Bounds::ANY$(.within($bounds))?;
                        self.$name = $crate::config::value::Value::read(input, bounds)?;
                        Ok(())
                    } )*
                    _ => Err($crate::config::value::Mismatch),
                }
            }

            fn section(&self, name: &str) -> Option<&dyn $crate::config::define::Section> {
                match name {
                    $($( stringify!($section) => Some(&self.$section), )*)?
                    _ => None,
                }
            }

            fn section_mut(&mut self, name: &str) -> Option<&mut dyn $crate::config::define::Section> {
                match name {
                    $($( stringify!($section) => Some(&mut self.$section), )*)?
                    _ => None,
                }
            }
        }
    };
}

pub(super) use options;
