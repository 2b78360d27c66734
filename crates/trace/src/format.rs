//! The layout of an event, as described by the kernel that traced it: the `format` text of tracefs, which perf.data and
//! trace.dat contain.

/// One field of an event's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its C type as declared, without name and array brackets.
    pub ctype: String,
    /// Bytes from the start of the record, the common fields included.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Whether the number has a sign.
    pub signed: bool,
}

/// One event's format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Format {
    /// The system, such as `sched`, taken from where the format was found.
    pub system: String,
    /// The event, such as `sched_switch`.
    pub name: String,
    /// The value of `common_type` in its records.
    pub id: u16,
    /// All fields, the common ones first.
    pub fields: Vec<Field>,
    /// How the kernel prints it.
    pub print_fmt: String,
}

/// Most fields of an event that are read; the kernel's events have a few dozen.
const MAX_FIELDS: usize = 512;

impl Format {
    /// Parses the text of a `format` file; `None` if it lacks a name, id or fields.
    pub fn parse(system: &str, text: &str) -> Option<Self> {
        let mut format = Self { system: system.to_owned(), ..Self::default() };
        let mut id = None;
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().to_owned();
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if let Some(print_fmt) = line.strip_prefix("print fmt:") {
                format.print_fmt = print_fmt.trim().to_owned();
            } else if line.starts_with("field:") && format.fields.len() < MAX_FIELDS {
                format.fields.extend(Field::parse(line));
            }
        }
        format.id = id?;
        (!format.name.is_empty() && !format.fields.is_empty()).then_some(format)
    }

    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

impl Field {
    /// Parses `field:char comm[16]; offset:8; size:16; signed:0;`, as in formats and in `header_page`.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?.trim();
        let mut field = Self { name: String::new(), ctype: String::new(), offset: 0, size: 0, signed: false };
        let (mut offset, mut size) = (None, None);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", number)) => offset = number.parse().ok(),
                Some(("size", number)) => size = number.parse().ok(),
                Some(("signed", number)) => field.signed = number == "1",
                _ => {}
            }
        }
        // No record is longer than a page or a perf event, so sums of these cannot overflow.
        let sane = |number: &u32| *number < 1 << 20;
        (field.offset, field.size) = (offset.filter(sane)?, size.filter(sane)?);
        let bare = declaration.split('[').next().unwrap_or(declaration);
        // `__data_loc char[] comm`: the brackets come before the name.
        let named = if declaration.ends_with(']') { bare } else { declaration };
        let at = named.trim_end().rfind([' ', '*', '\t']).map_or(0, |at| at + 1);
        field.name = named.trim_end()[at..].to_owned();
        field.ctype = named[..at].trim().to_owned();
        (!field.name.is_empty()).then_some(field)
    }

    /// A string elsewhere in the record; the field holds its length and offset.
    pub fn is_data_loc(&self) -> bool {
        self.ctype.starts_with("__data_loc")
    }

    /// The same, but the offset is relative to the end of the field.
    pub fn is_rel_loc(&self) -> bool {
        self.ctype.starts_with("__rel_loc")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIGRATE: &str = "name: sched_migrate_task\nID: 371\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:void * work;\toffset:12;\tsize:8;\tsigned:0;\n\
        \tfield:char next_comm[16];\toffset:20;\tsize:16;\tsigned:1;\n\n\
        print fmt: \"comm=%s\", __get_str(comm)\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse("sched", MIGRATE).unwrap();
        assert_eq!((format.system.as_str(), format.name.as_str(), format.id), ("sched", "sched_migrate_task", 371));
        let comm = format.field("comm").unwrap();
        assert!(comm.is_data_loc() && !comm.is_rel_loc());
        assert_eq!((comm.offset, comm.size), (8, 4));
        assert_eq!(format.field("work").map(|f| (f.ctype.as_str(), f.size)), Some(("void *", 8)));
        let next = format.field("next_comm").unwrap();
        assert_eq!((next.offset, next.size, next.signed, next.ctype.as_str()), (20, 16, true, "char"));
        assert!(format.field("common_pid").unwrap().signed);
        assert_eq!(format.print_fmt, "\"comm=%s\", __get_str(comm)");
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for text in ["", "name: x\nID: 1\n", "name: x\nfield:int a;\toffset:0;\tsize:4;", "ID: 9\nfield:int;;"] {
            assert_eq!(Format::parse("s", text), None, "{text}");
        }
        assert_eq!(Field::parse("field:int a;\toffset:x;\tsize:4;"), None);
        assert_eq!(Field::parse("field:;offset:1;size:1;").map(|f| f.name), None);
    }

    #[test]
    fn every_cut_of_a_format_is_survived() {
        for end in 0..MIGRATE.len() {
            let _ = Format::parse("sched", &MIGRATE[..end]);
        }
    }
}
