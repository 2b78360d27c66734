//! Floating-point numbers in JSON. JSON has no NaN and no infinity. serde_json writes both as `null`, which cannot be
//! read back: one odd metric would lose a finished trial. So they are written as text; finite numbers stay numbers.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serializer};

/// For `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match x {
        x if x.is_finite() => serializer.serialize_f64(*x),
        x if x.is_nan() => serializer.serialize_str("NaN"),
        x if *x > 0.0 => serializer.serialize_str("inf"),
        _ => serializer.serialize_str("-inf"),
    }
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(x) => Ok(x),
        Written::Word(word) => match word.as_str() {
            "NaN" => Ok(f64::NAN),
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            other => Err(D::Error::invalid_value(Unexpected::Str(other), &"a number, NaN, inf or -inf")),
        },
    }
}
