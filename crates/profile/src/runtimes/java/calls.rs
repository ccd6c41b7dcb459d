//! The calls that led to where a thread of Java is parked: compiled code says how long its frames are, the interpreter keeps what it runs
//! in its own (frame_x86.hpp and frame_aarch64.hpp, which agree in that). And what the code at an address is: a method, or a stub with a
//! name of its own.

use super::class_name;
use super::structs::{Structs, name};
use crate::memory::Memory;

/// Most calls that are followed, and most heaps of code.
const DEEPEST: usize = 48;
const MAX_HEAPS: u32 = 8;
/// Most steps from the middle of a block of code to its beginning, each of up to 254 segments, and the mark of a free segment.
const MAX_STEPS: usize = 1 << 10;
const FREE: u8 = 0xff;
/// What HotSpot calls the code of its interpreter, and that of methods.
const INTERPRETER: &str = "Interpreter";
const METHODS: [&str; 2] = ["nmethod", "native nmethod"];
/// Most bytes of a frame.
const MAX_FRAME: u64 = 1 << 16;
/// Where the interpreter keeps the method and the stack pointer of its caller, in bytes before its frame pointer.
const METHOD: u64 = 24;
const SENDER: u64 = 8;
const WORD: u64 = 8;

/// Where HotSpot keeps what tells of calls.
pub(super) struct Calls {
    /// The heaps of code: the variable that names their list.
    heaps: u64,
    list_length: u64,
    list_heaps: u64,
    /// Of a heap: where its code and the map of its segments begin and end, and how long a segment is.
    code: u64,
    segments: u64,
    low: u64,
    high: u64,
    shift: u64,
    /// Of a block of code: what stands before it, its name, the length of its frame in words, and the method that it is.
    header: u64,
    name: u64,
    frame: u64,
    method: u64,
    /// Of a thread: its innermost frame of Java.
    pointer: u64,
    counter: u64,
    link: u64,
    /// Of a method: its name by its number among the names of its class.
    constant: u64,
    pool: u64,
    number: u64,
    holder: u64,
    names: u64,
    class: u64,
    length: u64,
    text: u64,
}

/// A heap of code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heap {
    low: u64,
    high: u64,
    segments: u64,
    shift: u32,
}

/// A frame: where its stack ends, what runs in it, and its frame pointer.
#[derive(Clone, Copy)]
struct Place {
    pointer: u64,
    counter: u64,
    link: u64,
}

/// What runs in a frame.
enum Code {
    Interpreter,
    /// With the length of its frame in bytes.
    Compiled {
        frame: u64,
        method: u64,
    },
    /// A stub, likewise.
    Other {
        frame: u64,
    },
}

impl Calls {
    pub(super) fn read(structs: &Structs) -> Option<Self> {
        let offset = |of: &str, name: &str| structs.offset(of, name);
        let anchor = |field| Some(offset("JavaThread", "_anchor")? + offset("JavaFrameAnchor", field)?);
        Some(Self {
            heaps: structs.address("CodeCache", &["_heaps"])?,
            list_length: offset("GrowableArrayBase", "_len")?,
            list_heaps: offset("GrowableArray<int>", "_data")?,
            code: offset("CodeHeap", "_memory")?,
            segments: offset("CodeHeap", "_segmap")?,
            low: offset("VirtualSpace", "_low")?,
            high: offset("VirtualSpace", "_high")?,
            shift: offset("CodeHeap", "_log2_segment_size")?,
            header: structs.size("HeapBlock")?,
            name: offset("CodeBlob", "_name")?,
            frame: offset("CodeBlob", "_frame_size")?,
            method: offset("nmethod", "_method").or_else(|| offset("CompiledMethod", "_method"))?,
            pointer: anchor("_last_Java_sp")?,
            counter: anchor("_last_Java_pc")?,
            link: anchor("_last_Java_fp")?,
            constant: offset("Method", "_constMethod")?,
            pool: offset("ConstMethod", "_constants")?,
            number: offset("ConstMethod", "_name_index")?,
            holder: offset("ConstantPool", "_pool_holder")?,
            names: structs.size("ConstantPool")?,
            class: offset("Klass", "_name")?,
            length: offset("Symbol", "_length")?,
            text: offset("Symbol", "_body[0]").or_else(|| offset("Symbol", "_body"))?,
        })
    }

    /// The heaps of code as they are now: they grow.
    pub(super) fn heaps(&self, memory: &Memory) -> Vec<Heap> {
        let list = memory.word(self.heaps).unwrap_or_default();
        let length = memory.half(list.wrapping_add(self.list_length)).unwrap_or_default().min(MAX_HEAPS);
        let heaps = memory.word(list.wrapping_add(self.list_heaps)).unwrap_or_default();
        let heap = |number: u32| {
            let heap = memory.word(heaps.wrapping_add(u64::from(number) * WORD))?;
            let code = heap.wrapping_add(self.code);
            Some(Heap {
                low: memory.word(code.wrapping_add(self.low))?,
                high: memory.word(code.wrapping_add(self.high))?,
                segments: memory.word(heap.wrapping_add(self.segments).wrapping_add(self.low))?,
                shift: memory.half(heap.wrapping_add(self.shift)).filter(|shift| *shift < 32)?,
            })
        };
        (0..length).filter_map(heap).collect()
    }

    /// The methods that a thread is in, innermost first.
    pub(super) fn way(&self, memory: &Memory, heaps: &[Heap], thread: u64) -> Vec<u64> {
        let word = |offset: u64| memory.word(thread.wrapping_add(offset));
        let innermost = || {
            let pointer = word(self.pointer).filter(|pointer| *pointer != 0)?;
            // Where it is not told, the call into the library has put it on the stack.
            let told = word(self.counter).filter(|counter| *counter != 0);
            let counter = told.or_else(|| memory.word(pointer.wrapping_sub(WORD)))?;
            Some(Place { pointer, counter, link: word(self.link)? })
        };
        let (mut way, mut place) = (Vec::new(), innermost());
        for _ in 0..DEEPEST {
            let Some(code) = place.and_then(|place| self.code(memory, heaps, place.counter)) else { break };
            place = place.and_then(|place| self.outer(memory, place, &code, &mut way));
        }
        way
    }

    /// The frame of the caller; notes the method of the frame that it is of.
    fn outer(&self, memory: &Memory, place: Place, code: &Code, way: &mut Vec<u64>) -> Option<Place> {
        let Place { pointer, link, .. } = place;
        let outer = match *code {
            Code::Interpreter => {
                way.push(memory.word(link.wrapping_sub(METHOD))?);
                let [outer, counter] = memory.words(link)?;
                Place { pointer: memory.word(link.wrapping_sub(SENDER))?, counter, link: outer }
            }
            Code::Compiled { frame, .. } | Code::Other { frame } => {
                if let Code::Compiled { method, .. } = *code {
                    way.push(method);
                }
                let outer = pointer.checked_add(frame)?;
                let [link, counter] = memory.words(outer.wrapping_sub(2 * WORD))?;
                Place { pointer: outer, counter, link }
            }
        };
        // Stacks grow down, so who called lies above.
        (outer.pointer > pointer).then_some(outer)
    }

    /// The code at an address; `None` where there is none, and of what begins the stack.
    fn code(&self, memory: &Memory, heaps: &[Heap], counter: u64) -> Option<Code> {
        let (block, kind) = self.block(memory, heaps, counter)?;
        let frame = u64::from(memory.half(block.wrapping_add(self.frame))?) * WORD;
        let has_frame = (1..=MAX_FRAME).contains(&frame);
        match kind.as_str() {
            INTERPRETER => Some(Code::Interpreter),
            kind if METHODS.contains(&kind) && has_frame => {
                Some(Code::Compiled { frame, method: memory.word(block.wrapping_add(self.method))? })
            }
            _ => has_frame.then_some(Code::Other { frame }),
        }
    }

    /// The name of the code at an address: of the method that it is, else what HotSpot calls it.
    pub(super) fn name(&self, memory: &Memory, heaps: &[Heap], address: u64) -> Option<String> {
        let (block, kind) = self.block(memory, heaps, address)?;
        if METHODS.contains(&kind.as_str()) {
            return self.method(memory, memory.word(block.wrapping_add(self.method))?);
        }
        (!kind.is_empty()).then_some(kind)
    }

    /// The block of code that an address is in, behind what stands before it, and what HotSpot calls it.
    fn block(&self, memory: &Memory, heaps: &[Heap], address: u64) -> Option<(u64, String)> {
        let heap = heaps.iter().find(|heap| (heap.low..heap.high).contains(&address))?;
        let block = heap.block(memory, address)?.wrapping_add(self.header);
        Some((block, name(memory, memory.word(block.wrapping_add(self.name))?)))
    }

    /// The name of a method with that of its class; `None` of what is none.
    pub(super) fn method(&self, memory: &Memory, method: u64) -> Option<String> {
        let constant = memory.word(method.wrapping_add(self.constant))?;
        let pool = memory.word(constant.wrapping_add(self.pool))?;
        let number = memory.half(constant.wrapping_add(self.number))? & u32::from(u16::MAX);
        let symbol = memory.word(pool.wrapping_add(self.names).wrapping_add(u64::from(number) * WORD))?;
        let class = memory.word(pool.wrapping_add(self.holder))?;
        let class = class_name(&self.symbol(memory, memory.word(class.wrapping_add(self.class))?)?)?;
        let name = String::from_utf8(self.symbol(memory, symbol)?).ok()?;
        // What a lambda is compiled into has the address of its class in its name.
        let class = class.split('+').next().unwrap_or_default();
        Some(format!("{class}.{name}"))
    }

    fn symbol(&self, memory: &Memory, at: u64) -> Option<Vec<u8>> {
        super::symbol(memory, at, self.length, self.text)
    }
}

impl Heap {
    /// The block that an address is in: the map tells of each segment how many before it the block begins, in steps.
    fn block(&self, memory: &Memory, address: u64) -> Option<u64> {
        let mut segment = (address - self.low) >> self.shift;
        for _ in 0..MAX_STEPS {
            match memory.byte(self.segments.checked_add(segment)?)? {
                0 => return self.low.checked_add(segment << self.shift),
                FREE => return None,
                step => segment = segment.checked_sub(u64::from(step))?,
            }
        }
        None
    }
}
