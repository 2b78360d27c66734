//! Numbers and strings in a record, at the positions given by its format.

use super::Refused;
use crate::event::{Cpu, Prio, Tid};
use crate::format::Field;
use crate::names::{Name, Names};
use crate::syscall::Syscall;

/// A number in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    at: usize,
    size: u8,
    signed: bool,
    swap: bool,
}

impl Number {
    pub(super) fn of(field: &Field, big_endian: bool) -> Option<Self> {
        let swap = big_endian != cfg!(target_endian = "big");
        let size = u8::try_from(field.size).ok().filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
        Some(Self { at: field.offset as usize, size, signed: field.signed, swap })
    }

    /// The first two elements of an array of six: the arguments of a system call.
    pub(super) fn first_two(field: Option<&Field>, big_endian: bool) -> Option<[Self; 2]> {
        let field = field.filter(|field| field.size.is_multiple_of(6))?;
        let size = field.size / 6;
        let at = |offset| Self::of(&Field { offset, size, ..field.clone() }, big_endian);
        Some([at(field.offset)?, at(field.offset.checked_add(size)?)?])
    }

    #[inline]
    pub(super) fn get(self, raw: &[u8]) -> Option<i64> {
        Some(match self.size {
            4 => {
                let value = u32::from_ne_bytes(array(raw, self.at)?);
                let value = if self.swap { value.swap_bytes() } else { value };
                if self.signed { i64::from(value as i32) } else { i64::from(value) }
            }
            8 => {
                let value = u64::from_ne_bytes(array(raw, self.at)?);
                (if self.swap { value.swap_bytes() } else { value }) as i64
            }
            2 => {
                let value = u16::from_ne_bytes(array(raw, self.at)?);
                let value = if self.swap { value.swap_bytes() } else { value };
                if self.signed { i64::from(value as i16) } else { i64::from(value) }
            }
            _ => {
                let [value] = array::<1>(raw, self.at)?;
                if self.signed { i64::from(value as i8) } else { i64::from(value) }
            }
        })
    }

    #[inline]
    pub(super) fn tid(self, raw: &[u8]) -> Result<Tid, Refused> {
        Tid::from_raw(self.get(raw).ok_or(Refused::Short)?).ok_or(Refused::Number)
    }

    #[inline]
    pub(super) fn prio(self, raw: &[u8]) -> Result<Prio, Refused> {
        Ok(Prio::from_raw(self.get(raw).ok_or(Refused::Short)?))
    }

    #[inline]
    pub(super) fn cpu(self, raw: &[u8]) -> Result<Cpu, Refused> {
        Cpu::from_raw(self.get(raw).ok_or(Refused::Short)?).ok_or(Refused::Number)
    }

    pub(super) fn syscall(self, raw: &[u8]) -> Result<Syscall, Refused> {
        Ok(Syscall::from_raw(self.get(raw).ok_or(Refused::Short)?))
    }

    pub(super) fn u64(self, raw: &[u8]) -> Result<u64, Refused> {
        Ok(self.get(raw).ok_or(Refused::Short)? as u64)
    }

    pub(super) fn u32(self, raw: &[u8]) -> Result<u32, Refused> {
        Ok(self.get(raw).ok_or(Refused::Short)? as u32)
    }
}

/// A string in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    Comm {
        at: usize,
    },
    Array {
        at: usize,
        len: usize,
    },
    /// Length and offset packed into a number; `from` is what the offset is relative to.
    Located {
        number: Number,
        from: usize,
    },
    Absent,
}

impl Text {
    pub(super) fn of(field: Option<&Field>, big_endian: bool) -> Self {
        let Some(field) = field else { return Self::Absent };
        let at = field.offset as usize;
        match Number::of(field, big_endian) {
            Some(number) if field.is_data_loc() && number.size == 4 => Self::Located { number, from: 0 },
            Some(number) if field.is_rel_loc() && number.size == 4 => Self::Located { number, from: at + 4 },
            _ if field.ctype != "char" => Self::Absent,
            _ if field.size == 16 => Self::Comm { at },
            _ => Self::Array { at, len: field.size as usize },
        }
    }

    /// A comm, through the cache of its thread.
    #[inline]
    pub(super) fn comm(self, raw: &[u8], tid: Tid, names: &mut Names) -> Result<Name, Refused> {
        if let Self::Comm { at } = self {
            let comm = raw.get(at..at + 16).and_then(|b| <&[u8; 16]>::try_from(b).ok()).ok_or(Refused::Short)?;
            return Ok(names.comm(tid, comm));
        }
        let bytes = self.bytes(raw)?;
        let mut comm = [0; 16];
        let len = bytes.len().min(comm.len());
        comm[..len].copy_from_slice(&bytes[..len]);
        Ok(names.comm(tid, &comm))
    }

    pub(super) fn name(self, raw: &[u8], names: &mut Names) -> Result<Name, Refused> {
        Ok(names.intern_bytes(self.bytes(raw)?))
    }

    /// The bytes up to the first zero byte.
    pub(super) fn bytes(self, raw: &[u8]) -> Result<&[u8], Refused> {
        let (at, len) = match self {
            Self::Absent => return Ok(&[]),
            Self::Comm { at } => (at, 16),
            Self::Array { at, len } => (at, len),
            Self::Located { number, from } => {
                let located = number.u32(raw)?;
                (from + (located & 0xffff) as usize, (located >> 16) as usize)
            }
        };
        let bytes = raw.get(at..at + len).ok_or(Refused::Short)?;
        Ok(&bytes[..bytes.iter().position(|b| *b == 0).unwrap_or(len)])
    }
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}
