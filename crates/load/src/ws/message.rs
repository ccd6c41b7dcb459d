//! Messages of one kind, written anew for each.

use assay_model::template::{Draw, Numbers, Template, TextPart};
use assay_model::workload::{BadRequest, RequestKind};
use assay_ws::{Mask, Opcode, render};

use crate::LoadError;

/// One kind of message.
pub(super) struct Message {
    numbers: Numbers,
    template: Template,
}

impl Message {
    pub(super) fn new(kind: &RequestKind) -> Result<Self, LoadError> {
        let mut numbers = Numbers::default();
        let text = kind.body.as_deref().unwrap_or_default();
        let template = numbers.read(text).map_err(|source| LoadError::BadRequest {
            path: kind.path.clone(),
            source: BadRequest::Placeholder { key: "body", source },
        })?;
        Ok(Self { numbers, template })
    }

    /// The numbers of its placeholders.
    pub(super) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Appends a whole frame.
    #[inline]
    pub(super) fn write(&self, draw: Draw, opcode: Opcode, mask: Mask, out: &mut Vec<u8>) {
        render::header(opcode, true, Some(mask), self.template.len(&self.numbers, draw) as u64, out);
        let start = out.len();
        self.template.write(&self.numbers, draw, &mut TextPart::new(0, usize::MAX, out));
        mask.apply(&mut out[start..]);
    }
}
