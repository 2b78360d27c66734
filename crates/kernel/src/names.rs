//! Sets of names as hashes in one sorted list. A million names take 8 MB, and the code is smaller than that of the
//! library's maps, which are compiled for each type.

/// FNV-1a with its upper half folded in. Among a million names, two have the same lower 44 bits once in 35 times, and a
/// name that is looked up has those of another once in 17 million times.
pub(crate) fn hash(word: &[u8]) -> usize {
    let hash = word.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    (hash ^ hash >> 29) as usize
}

/// Bits for the number of a file.
const FILE: u32 = 20;

/// Names, each with the number of a file that contains it, below 2^20.
#[derive(Debug, Default, Clone)]
pub(crate) struct Names(Vec<usize>);

impl Names {
    pub(crate) fn add(&mut self, word: &[u8], file: usize) {
        self.0.push(hash(word) << FILE | file & ((1 << FILE) - 1));
    }

    /// Adds the names of another set, whose file numbers start at `first`.
    pub(crate) fn join(&mut self, other: &Self, first: usize) {
        self.0.extend(other.0.iter().map(|name| name + first));
    }

    /// Sorts the names; required before looking any up.
    pub(crate) fn seal(&mut self) {
        self.0.sort_unstable();
        self.0.dedup();
    }

    /// The files that contain a name.
    pub(crate) fn files(&self, word: &[u8]) -> impl Iterator<Item = usize> + Clone {
        let first = hash(word) << FILE;
        let begin = self.0.partition_point(|name| *name < first);
        self.0[begin..].iter().map(move |name| name ^ first).take_while(|file| *file < 1 << FILE)
    }

    /// The names that are in more files than `limit`, without their files. Call it after sealing.
    pub(crate) fn in_more_files_than(&self, limit: usize) -> Self {
        let of_one = self.0.chunk_by(|a, b| a >> FILE == b >> FILE).filter(|files| files.len() > limit);
        Self(of_one.map(|files| files[0] >> FILE << FILE).collect())
    }

    pub(crate) fn has(&self, word: &[u8]) -> bool {
        self.files(word).next().is_some()
    }
}

/// The words of C text, including comments.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')).filter(|word| !word.is_empty())
}
