//! Options that are one word out of a few.

/// Declares an enum whose variants are words, and makes it an option value.
macro_rules! choices {
    (
        $(#[doc = $about:literal])+
        pub enum $Enum:ident { $($Variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $( #[doc = concat!("`", $word, "`")] $Variant, )+
        }

        impl $Enum {
            /// The word for it, the same in file, variable and flag.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( $Enum::$Variant => $word, )+
                }
            }
        }

        impl $crate::config::value::Value for $Enum {
            fn kind(_: $crate::config::define::Bounds) -> $crate::config::value::Kind {
                $crate::config::value::Kind::Choice(&[$($word),+])
            }

            fn read(
                input: $crate::config::value::Input<'_>,
                _: $crate::config::define::Bounds,
            ) -> Result<Self, $crate::config::value::Mismatch> {
                match input.text()? {
                    $( $word => Ok($Enum::$Variant), )+
                    _ => Err($crate::config::value::Mismatch),
                }
            }

            fn to_toml(&self) -> Option<toml::Value> {
                Some(self.as_str().into())
            }
        }
    };
}

pub(super) use choices;
