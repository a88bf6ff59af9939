//! Whether a function has a frame pointer where it makes a call, from the program's unwind tables.
//!
//! What the shim keeps of an acquisition is a chain of words that are callers only if that is so (`engine/taken.rs`).

use addr2line::gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, RegisterRule, UnwindContext, UnwindSection, X86_64,
};
use object::{Object, ObjectSection};

/// The unwind tables of a file.
pub struct Unwind {
    table: Vec<u8>,
    bases: BaseAddresses,
}

impl Unwind {
    pub fn of(file: &object::File<'_>) -> Option<Unwind> {
        let section = file.section_by_name(".eh_frame")?;
        let at = |name: &str| file.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(at(".text")).set_got(at(".got"));
        Some(Unwind { table: section.data().ok()?.to_vec(), bases })
    }

    /// Whether rbp leads to the caller's rbp, and the return address lies above it, at that address in the file.
    pub fn has_frame_pointer(&self, at: u64) -> bool {
        let frames = EhFrame::new(&self.table, LittleEndian);
        let mut context = UnwindContext::new();
        let row = frames.unwind_info_for_address(&self.bases, &mut context, at, EhFrame::cie_from_offset);
        row.is_ok_and(|row| {
            let cfa = matches!(row.cfa(), CfaRule::RegisterAndOffset { register: X86_64::RBP, offset: 16 });
            cfa && row.register(X86_64::RBP) == Some(RegisterRule::Offset(-16))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_table_has_none() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let unwind = Unwind::of(&object::File::parse(&*bytes).unwrap()).unwrap();
        assert!(!unwind.has_frame_pointer(1));
    }
}
