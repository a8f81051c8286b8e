//! The layout of an unpacked state.
//!
//! Each simple place takes 1, 2, 4 or 8 whole bytes, little end first: 0 if it is undefined, or its
//! number among the values of its type from 1. Records, arrays and multisets are their parts in a
//! row. Each element of a multiset has a byte before it that says whether it is there; one that is
//! not there is zero throughout.

use crate::model::Model;
use crate::model::types::{TypeId, TypeKind, Types};
use crate::search::{SearchError, SearchErrorKind};

/// The largest state.
const MOST_BYTES: u64 = 1 << 26;

/// The layout of a type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// All of it.
    pub bytes: u32,
    /// The least value, if it is simple.
    pub low: i64,
    /// The greatest value, if it is simple.
    pub high: i64,
    /// The offsets of the fields of a record.
    pub fields: Vec<u32>,
    /// From one element of an array or multiset to the next.
    pub stride: u32,
    /// How many elements an array or multiset has room for.
    pub length: u32,
    /// Whether there is a multiset in it.
    pub has_multiset: bool,
}

/// The layout of states.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    shapes: Vec<Shape>,
    /// The offsets of the variables.
    pub globals: Vec<u32>,
    /// A state, rounded up to whole words.
    pub bytes: usize,
    /// For each word of a state, the bits that can be 1.
    pub masks: Vec<u64>,
}

impl Layout {
    pub fn new(model: &Model) -> Result<Layout, SearchError> {
        let mut shapes = Vec::with_capacity(model.types.len());
        for (id, _) in model.types.iter() {
            let shape = shape(&model.types, id, &shapes)?;
            shapes.push(shape);
        }
        let mut layout = Layout {
            shapes,
            globals: Vec::new(),
            bytes: 0,
            masks: Vec::new(),
        };
        let mut end = 0_u64;
        for global in &model.globals {
            layout.globals.push(end as u32);
            end += u64::from(layout.shape(global.type_id).bytes);
            if end > MOST_BYTES {
                return Err(SearchError {
                    message: format!("the state takes more than {MOST_BYTES} bytes"),
                    span: Some(global.span),
                    help: Some("make the type smaller"),
                    kind: SearchErrorKind::Model,
                });
            }
        }
        layout.bytes = end.next_multiple_of(8) as usize;
        let mut masks = vec![0; layout.bytes];
        for (global, &at) in model.globals.iter().zip(&layout.globals) {
            layout.mark(&model.types, global.type_id, &mut masks[at as usize..]);
        }
        let words = masks.as_chunks::<8>().0;
        layout.masks = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Ok(layout)
    }

    pub fn shape(&self, id: TypeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// How many bits of a state can be 1.
    pub fn bits(&self) -> usize {
        self.masks
            .iter()
            .map(|mask| mask.count_ones() as usize)
            .sum()
    }

    /// Sets the bits that can be 1.
    fn mark(&self, types: &Types, id: TypeId, bytes: &mut [u8]) {
        let shape = self.shape(id);
        match &types[id].kind {
            TypeKind::Record(fields) => {
                for (field, &at) in fields.iter().zip(&shape.fields) {
                    self.mark(types, field.type_id, &mut bytes[at as usize..]);
                }
            }
            TypeKind::Array { element, .. } | TypeKind::Multiset { element, .. } => {
                if shape.length == 0 {
                    return;
                }
                let stride = shape.stride as usize;
                let flag = stride - self.shape(*element).bytes as usize;
                bytes[..flag].fill(1);
                self.mark(types, *element, &mut bytes[flag..]);
                for number in 1..shape.length as usize {
                    bytes.copy_within(..stride, number * stride);
                }
            }
            _ => {
                let most = shape.high.wrapping_sub(shape.low) as u64 + 1;
                let mask = u64::MAX >> most.leading_zeros();
                let width = shape.bytes as usize;
                bytes[..width].copy_from_slice(&mask.to_le_bytes()[..width]);
            }
        }
    }

    /// Whether every simple place of a state has a value of its type.
    pub fn is_valid(&self, model: &Model, state: &[u64]) -> bool {
        let bytes: &[u8] = bytemuck::cast_slice(state);
        let mut globals = model.globals.iter().zip(&self.globals);
        globals.all(|(global, &at)| {
            self.is_valid_part(&model.types, global.type_id, &bytes[at as usize..])
        })
    }

    fn is_valid_part(&self, types: &Types, id: TypeId, bytes: &[u8]) -> bool {
        let shape = self.shape(id);
        match &types[id].kind {
            TypeKind::Record(fields) => {
                let mut fields = fields.iter().zip(&shape.fields);
                fields.all(|(field, &at)| {
                    self.is_valid_part(types, field.type_id, &bytes[at as usize..])
                })
            }
            TypeKind::Array { element, .. } | TypeKind::Multiset { element, .. } => {
                let flag = shape.stride as usize - self.shape(*element).bytes as usize;
                (0..shape.length as usize).all(|number| {
                    let element_bytes = &bytes[number * shape.stride as usize + flag..];
                    self.is_valid_part(types, *element, element_bytes)
                })
            }
            _ => {
                let mut stored = [0; 8];
                let wide = shape.bytes as usize;
                stored[..wide].copy_from_slice(&bytes[..wide]);
                let most = shape.high.wrapping_sub(shape.low) as u64 + 1;
                u64::from_le_bytes(stored) <= most
            }
        }
    }

    /// A variable with the least value everywhere and empty multisets.
    pub fn clear(&self, types: &Types, id: TypeId, bytes: &mut [u8]) {
        let shape = self.shape(id);
        match &types[id].kind {
            TypeKind::Record(fields) => {
                for (field, &at) in fields.iter().zip(&shape.fields) {
                    self.clear(types, field.type_id, &mut bytes[at as usize..]);
                }
            }
            TypeKind::Array { element, .. } => {
                let stride = shape.stride as usize;
                if shape.length > 0 {
                    self.clear(types, *element, bytes);
                }
                for number in 1..shape.length as usize {
                    bytes.copy_within(..stride, number * stride);
                }
            }
            TypeKind::Multiset { .. } => bytes[..shape.bytes as usize].fill(0),
            _ => {
                bytes[..shape.bytes as usize].fill(0);
                bytes[0] = 1;
            }
        }
    }
}

fn shape(types: &Types, id: TypeId, before: &[Shape]) -> Result<Shape, SearchError> {
    let this = &types[id];
    let of = |id: TypeId| &before[id.0 as usize];
    let mut made = Shape::default();
    let mut bytes = 0_u64;
    match &this.kind {
        TypeKind::Record(fields) => {
            for field in fields {
                made.fields.push(bytes as u32);
                bytes += u64::from(of(field.type_id).bytes);
                made.has_multiset |= of(field.type_id).has_multiset;
                if bytes > MOST_BYTES {
                    break;
                }
            }
        }
        TypeKind::Array { index, element } => {
            let length = types[*index].cardinality().unwrap_or(0);
            made.stride = of(*element).bytes;
            made.length = u32::try_from(length).unwrap_or(u32::MAX);
            made.has_multiset = of(*element).has_multiset;
            bytes = u64::from(made.stride) * u64::from(made.length);
        }
        TypeKind::Multiset { capacity, element } => {
            made.stride = of(*element).bytes + 1;
            made.length = *capacity;
            made.has_multiset = true;
            bytes = u64::from(made.stride) * u64::from(made.length);
        }
        _ => {
            let (low, high) = this.bounds().unwrap_or((0, 0));
            (made.low, made.high) = (low, high);
            bytes = match this.cardinality().unwrap_or(1) {
                0..0x100 => 1,
                0x100..0x1_0000 => 2,
                0x1_0000..0x1_0000_0000 => 4,
                // The least number of all stands for undefined in compiled code.
                many if many < 1 << 63 && low > i64::MIN => 8,
                _ => {
                    return Err(SearchError {
                        message: "the range is too wide: a search keeps at most 2^63 - 1 values \
                                  of a type apart"
                            .into(),
                        span: Some(this.span),
                        help: Some("make the type smaller"),
                        kind: SearchErrorKind::Model,
                    });
                }
            };
        }
    }
    if bytes > MOST_BYTES {
        return Err(SearchError {
            message: format!("a variable of this type takes more than {MOST_BYTES} bytes"),
            span: Some(this.span),
            help: Some("make the type smaller"),
            kind: SearchErrorKind::Model,
        });
    }
    made.bytes = bytes as u32;
    Ok(made)
}
