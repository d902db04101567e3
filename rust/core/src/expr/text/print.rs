//! Prints predicates as SQL text that parses to an equal predicate.

use std::fmt::{self, Display, Formatter, Write};

use crate::error::Result;
use crate::expr::evaluate::like::DEFAULT_ESCAPE;
use crate::expr::node::predicate;
use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::Literal;
use crate::spec::calendar::{DateText, TimestampText};

/// Keywords that are not valid as unquoted names everywhere, in this parser or in Spark's.
const RESERVED: [&str; 41] = [
    "ALL",
    "AND",
    "ANY",
    "BETWEEN",
    "BINARY",
    "CASE",
    "CAST",
    "COLLATE",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "DATE",
    "DISTINCT",
    "DIV",
    "ESCAPE",
    "EXISTS",
    "FALSE",
    "FROM",
    "ILIKE",
    "IN",
    "INTERVAL",
    "IS",
    "LIKE",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NOT",
    "NULL",
    "OR",
    "REGEXP",
    "RLIKE",
    "SELECT",
    "SIMILAR",
    "SOME",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ",
    "TRUE",
    "UNKNOWN",
    "WHEN",
    "WHERE",
    "X",
];

impl Predicate {
    /// Refuses a predicate whose text would be too long to be parsed.
    pub(in crate::expr) fn checked(self) -> Result<Self> {
        if text_length(&self) > predicate::MAX_TEXT {
            return Err(predicate::too_long());
        }
        Ok(self)
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print(&self.root, Level::Or, f)
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Predicate({self})")
    }
}

/// The precedence of a condition. It is printed in parentheses where a higher precedence is required.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Or,
    And,
    Not,
    Condition,
    Value,
}

fn level(expr: &Expr) -> Level {
    match expr {
        // parentheses are needed around any operator of the formula
        Expr::Or(_) | Expr::Formula(_) => Level::Or,
        Expr::And(_) => Level::And,
        Expr::Not(inner) => match inner.as_ref() {
            Expr::IsNull(_) | Expr::Is(..) | Expr::In(..) | Expr::Like { .. } => Level::Condition,
            _ => Level::Not,
        },
        Expr::Value(_) => Level::Value,
        _ => Level::Condition,
    }
}

fn print(expr: &Expr, at_least: Level, f: &mut Formatter<'_>) -> fmt::Result {
    if level(expr) < at_least {
        f.write_char('(')?;
        print(expr, Level::Or, f)?;
        return f.write_char(')');
    }
    match expr {
        Expr::Or(parts) => joined(parts, " OR ", Level::And, f),
        Expr::And(parts) => joined(parts, " AND ", Level::Not, f),
        Expr::Not(inner) if level(expr) == Level::Condition => condition(inner, "NOT ", f),
        Expr::Not(inner) => {
            f.write_str("NOT ")?;
            print(inner, Level::Not, f)
        }
        Expr::Value(operand) => write!(f, "{operand}"),
        Expr::Formula(formula) => f.write_str(formula.text()),
        other => condition(other, "", f),
    }
}

fn joined(parts: &[Expr], between: &str, level: Level, f: &mut Formatter<'_>) -> fmt::Result {
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            f.write_str(between)?;
        }
        print(part, level, f)?;
    }
    Ok(())
}

fn condition(expr: &Expr, not: &str, f: &mut Formatter<'_>) -> fmt::Result {
    match expr {
        Expr::Compare(left, op, right) => write!(f, "{left} {op} {right}"),
        Expr::IsNull(inner) => {
            print(inner, Level::Value, f)?;
            write!(f, " IS {not}NULL")
        }
        Expr::Is(inner, value) => {
            print(inner, Level::Value, f)?;
            write!(f, " IS {not}{}", if *value { "TRUE" } else { "FALSE" })
        }
        Expr::In(column, list) => {
            write!(f, "{column} {not}IN ")?;
            write_list(list, f)
        }
        Expr::Like {
            column,
            pattern,
            escape,
        } => {
            write!(f, "{column} {not}LIKE {}", Quoted(pattern))?;
            if *escape != DEFAULT_ESCAPE {
                write!(f, " ESCAPE {}", Quoted(escape.encode_utf8(&mut [0; 4])))?;
            }
            Ok(())
        }
        other => print(other, Level::Or, f),
    }
}

fn write_list(list: &[Literal], f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('(')?;
    for (number, literal) in list.iter().enumerate() {
        if number > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{literal}")?;
    }
    f.write_char(')')
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::NullSafeEq => "<=>",
        })
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(path) => write!(f, "{path}"),
            Self::Literal(literal) => write!(f, "{literal}"),
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, name) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_char('.')?;
            }
            if is_plain(name) {
                f.write_str(name)?;
            } else {
                write!(f, "`{}`", name.replace('`', "``"))?;
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    let mut characters = name.bytes();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == b'_')
        && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// A string literal, with quotes and `${` escaped: Spark before 4.1 ends a string at two consecutive quotes
/// and begins another, and Spark replaces `${env:NAME}` with an environment variable before parsing.
pub(in crate::expr) struct Quoted<'a>(pub(in crate::expr) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        let mut rest = self.0;
        while let Some((plain, special)) = rest
            .find(['\'', '\\', '$'])
            .and_then(|position| rest.split_at_checked(position))
        {
            let (character, after) = special.split_at_checked(1).unwrap_or((special, ""));
            match character {
                "$" if after.starts_with('{') => write!(f, "{plain}\\u0024")?,
                "$" => write!(f, "{plain}$")?,
                _ => write!(f, "{plain}\\{character}")?,
            }
            rest = after;
        }
        write!(f, "{rest}'")
    }
}

/// Prints SQL text that parses to an equal literal.
impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(true) => f.write_str("TRUE"),
            Self::Boolean(false) => f.write_str("FALSE"),
            Self::Integer(value) => write!(f, "{value}"),
            // without the cast, it would be parsed as an integer
            Self::Decimal(value)
                if value.scale() == 0 && i64::try_from(value.unscaled()).is_ok() =>
            {
                write!(f, "CAST({value} AS DECIMAL(19,0))")
            }
            Self::Decimal(value) => write!(f, "{value}"),
            Self::Double(value) if value.is_nan() => f.write_str("CAST('NaN' AS DOUBLE)"),
            Self::Double(value) if value.is_infinite() => {
                let sign = if *value < 0.0 { "-" } else { "" };
                write!(f, "CAST('{sign}Infinity' AS DOUBLE)")
            }
            Self::Double(value) => write!(f, "{value:e}"),
            Self::String(value) => write!(f, "{}", Quoted(value)),
            Self::Binary(value) => {
                f.write_str("X'")?;
                for byte in value {
                    write!(f, "{byte:02X}")?;
                }
                f.write_char('\'')
            }
            Self::Date(days) => write!(f, "DATE '{}'", DateText(i64::from(*days))),
            Self::Timestamp(micros) => write!(f, "TIMESTAMP '{}Z'", TimestampText(*micros, 'T')),
            Self::TimestampNtz(micros) => {
                write!(f, "TIMESTAMP_NTZ '{}'", TimestampText(*micros, 'T'))
            }
            Self::LocalTimestamp(micros) => {
                write!(f, "TIMESTAMP '{}'", TimestampText(*micros, 'T'))
            }
            Self::List(list) => write_list(list, f),
        }
    }
}

/// Returns the length of the text in bytes, without building it.
fn text_length(predicate: &Predicate) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }
    let mut count = Count(0);
    // counting does not fail
    let _ = write!(count, "{predicate}");
    count.0
}
