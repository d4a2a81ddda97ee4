//! The memory itself: made by the host, mapped by both.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use super::header::{HEADER_BYTES, Header, Identity, MAGIC};
use super::open_error::OpenError;
use crate::layout::{FINGERPRINT, LAYOUT_VERSION};

/// Sizes of the two streams in bytes: powers of two from 4 KiB to 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// From the host to the application.
    pub events: u32,
    /// From the application to the host.
    pub commands: u32,
}

impl Capacity {
    const SMALLEST: u32 = 4096;
    const LARGEST: u32 = 1 << 30;

    fn is_valid(self) -> bool {
        [self.events, self.commands].into_iter().all(|bytes| {
            bytes.is_power_of_two() && (Self::SMALLEST..=Self::LARGEST).contains(&bytes)
        })
    }

    fn total(self) -> usize {
        HEADER_BYTES + as_usize(self.events) + as_usize(self.commands)
    }
}

/// What the memory is sealed with before it is mapped: its size never changes, and no seal can be added, such as one
/// against writing. Reading a mapping beyond the end of its file is SIGBUS, which ends the process.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// A mapping of the channel's memory. Unmapped when the last end is dropped.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    capacity: Capacity,
    /// Under the model checker the atomics are objects of its own, and so is what stands for the streams' bytes.
    #[cfg(loom)]
    header: Box<Header>,
    #[cfg(loom)]
    blocks: Vec<loom::cell::UnsafeCell<()>>,
}

// SAFETY: the memory is plain bytes and atomics; who may touch which bytes is decided by the streams' positions.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Makes the memory and maps it. Returns the descriptor to hand over. Pages are given by the system as they are
    /// used.
    ///
    /// # Errors
    /// `EINVAL` if the capacity is out of its range; those of memfd_create(2), ftruncate(2), fcntl(2) and mmap(2).
    pub fn create(capacity: Capacity) -> io::Result<(Self, OwnedFd)> {
        if !capacity.is_valid() {
            return Err(rustix::io::Errno::INVAL.into());
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let create = |flags| rustix::fs::memfd_create("portico-channel", flags);
        // What lies there is not to be run as code; systems may demand it (`vm.memfd_noexec`). Linux before 6.3 can't say it.
        let fd = match create(flags | MemfdFlags::NOEXEC_SEAL) {
            Err(rustix::io::Errno::INVAL) => create(flags)?,
            created => created?,
        };
        rustix::fs::ftruncate(&fd, as_u64(capacity.total()))?;
        rustix::fs::fcntl_add_seals(&fd, SEALS)?;
        // Not believed but looked at, as on the other side: without the seals a mapping can kill its process.
        if !rustix::fs::fcntl_get_seals(&fd)?.contains(SEALS) {
            return Err(rustix::io::Errno::PERM.into());
        }
        let memory = Self::map(&fd, capacity)?;
        memory.write_identity();
        Ok((memory, fd))
    }

    /// Maps memory that the other side made. The descriptor may be closed afterwards.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(fd: impl AsFd) -> Result<Self, OpenError> {
        // Only memory that memfd_create(2) made has seals at all; so no file system of the other side's is behind it.
        let seals = rustix::fs::fcntl_get_seals(&fd).map_err(|_| OpenError::NotAChannel)?;
        // Looked at after the seals: from there on it can't change.
        let size = rustix::fs::fstat(&fd)?.st_size;
        if !seals.contains(SEALS) || size < as_i64(HEADER_BYTES) {
            return Err(OpenError::NotAChannel);
        }
        let identity = read_identity(&fd)?;
        if identity.magic != MAGIC {
            return Err(OpenError::NotAChannel);
        }
        if identity.version != LAYOUT_VERSION {
            return Err(OpenError::Version {
                ours: LAYOUT_VERSION,
                theirs: identity.version,
            });
        }
        // A host of before there were fingerprints has 0 there.
        if identity.fingerprint != FINGERPRINT {
            return Err(OpenError::Records {
                theirs: identity.fingerprint,
            });
        }
        let capacity = Capacity {
            events: identity.events_bytes,
            commands: identity.commands_bytes,
        };
        if !capacity.is_valid() || as_i64(capacity.total()) != size {
            return Err(OpenError::NotAChannel);
        }
        Ok(Self::map(&fd, capacity)?)
    }

    /// Sizes of the streams.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    fn map(fd: impl AsFd, capacity: Capacity) -> rustix::io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice; the seals keep the file from shrinking under it.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                capacity.total(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )?
        };
        let base = NonNull::new(base.cast::<u8>()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self {
            base,
            capacity,
            #[cfg(loom)]
            header: Box::new(Header::new(identity_of(capacity))),
            #[cfg(loom)]
            blocks: (0..capacity.total() / BLOCK_BYTES)
                .map(|_| loom::cell::UnsafeCell::new(()))
                .collect(),
        })
    }

    fn write_identity(&self) {
        // SAFETY: the mapping is larger than the header and aligned to a page, and no other thread has it yet.
        unsafe {
            self.base
                .cast::<Identity>()
                .write(identity_of(self.capacity))
        };
    }

    pub(super) fn header(&self) -> &Header {
        #[cfg(loom)]
        return &self.header;
        #[cfg(not(loom))]
        // SAFETY: the mapping is larger than a header, aligned to a page and lives as long as `self`; every bit
        // pattern of a header is valid, and all of it that changes is atomic.
        unsafe {
            self.base.cast::<Header>().as_ref()
        }
    }

    /// First byte of the stream of events, and its size.
    pub(super) fn events(&self) -> (NonNull<u8>, usize) {
        // SAFETY: within the mapping.
        let start = unsafe { self.base.add(HEADER_BYTES) };
        (start, as_usize(self.capacity.events))
    }

    /// First byte of the stream of commands, and its size.
    pub(super) fn commands(&self) -> (NonNull<u8>, usize) {
        // SAFETY: within the mapping.
        let start = unsafe { self.base.add(HEADER_BYTES + as_usize(self.capacity.events)) };
        (start, as_usize(self.capacity.commands))
    }
}

#[cfg(loom)]
const BLOCK_BYTES: usize = 1024;

#[cfg(loom)]
impl SharedMemory {
    /// Tells the model checker of an access to bytes that begin at `start`: two of them without an order are an error.
    pub(super) fn touch(&self, start: NonNull<u8>, length: usize, writes: bool) {
        let offset = start.as_ptr() as usize - self.base.as_ptr() as usize;
        for block in offset / BLOCK_BYTES..(offset + length).div_ceil(BLOCK_BYTES) {
            if writes {
                self.blocks[block].with_mut(|_| ());
            } else {
                self.blocks[block].with(|_| ());
            }
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.capacity.total()) };
    }
}

fn identity_of(capacity: Capacity) -> Identity {
    Identity {
        magic: MAGIC,
        version: LAYOUT_VERSION,
        events_bytes: capacity.events,
        commands_bytes: capacity.commands,
        fingerprint: FINGERPRINT,
    }
}

/// By a system call, not by the mapping: these words are looked at once.
fn read_identity(fd: impl AsFd) -> rustix::io::Result<Identity> {
    let mut bytes = [0u8; size_of::<Identity>()];
    rustix::io::pread(&fd, &mut bytes, 0)?;
    let word = |index: usize| match bytes.get(index * 4..index * 4 + 4) {
        Some(&[a, b, c, d]) => u32::from_ne_bytes([a, b, c, d]),
        _ => 0,
    };
    Ok(Identity {
        magic: word(0),
        version: word(1),
        events_bytes: word(2),
        commands_bytes: word(3),
        fingerprint: word(4),
    })
}

/// A size that is at most 2 GiB and a page.
fn as_usize(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn as_i64(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    const CAPACITY: Capacity = Capacity {
        events: 4096,
        commands: 8192,
    };

    #[test]
    fn what_one_side_makes_the_other_opens() {
        let (made, fd) = SharedMemory::create(CAPACITY).unwrap();
        let opened = SharedMemory::open(&fd).unwrap();
        assert_eq!(made.capacity(), opened.capacity());
    }

    #[test]
    fn its_size_and_its_seals_can_not_be_changed() {
        let (_memory, fd) = SharedMemory::create(CAPACITY).unwrap();
        for bytes in [0, 4096, 1 << 20] {
            assert!(rustix::fs::ftruncate(&fd, bytes).is_err(), "{bytes}");
        }
        for seal in [SealFlags::WRITE, SealFlags::FUTURE_WRITE] {
            assert!(rustix::fs::fcntl_add_seals(&fd, seal).is_err(), "{seal:?}");
        }
    }

    #[test]
    fn memory_that_lacks_one_of_the_seals_is_refused() {
        let (_memory, fd) = SharedMemory::create(CAPACITY).unwrap();
        let mut bytes = vec![0; CAPACITY.total()];
        rustix::io::pread(&fd, &mut bytes[..], 0).unwrap();
        for missing in [SealFlags::SHRINK, SealFlags::GROW, SealFlags::SEAL] {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let other = rustix::fs::memfd_create("other", flags).unwrap();
            rustix::io::pwrite(&other, &bytes, 0).unwrap();
            rustix::fs::fcntl_add_seals(&other, SEALS - missing).unwrap();
            let opened = SharedMemory::open(&other);
            assert!(matches!(opened, Err(OpenError::NotAChannel)), "{missing:?}");
            if missing != SealFlags::SEAL {
                continue;
            }
            rustix::fs::fcntl_add_seals(&other, SealFlags::SEAL).unwrap();
            SharedMemory::open(&other).unwrap();
        }
    }

    #[test]
    fn a_hole_punched_into_it_reads_as_zeros() {
        let (memory, fd) = SharedMemory::create(CAPACITY).unwrap();
        let (start, bytes) = memory.events();
        let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&fd, mode, 0, as_u64(CAPACITY.total())).unwrap();
        for at in [0, bytes - 1] {
            // SAFETY: within the mapping.
            assert_eq!(unsafe { start.add(at).read_volatile() }, 0);
        }
    }

    #[test]
    fn another_version_is_named() {
        let (_memory, fd) = SharedMemory::create(CAPACITY).unwrap();
        rustix::io::pwrite(&fd, &7u32.to_ne_bytes(), 4).unwrap();
        let error = SharedMemory::open(&fd).unwrap_err();
        assert!(matches!(
            error,
            OpenError::Version {
                ours: LAYOUT_VERSION,
                theirs: 7
            }
        ));
        assert!(error.to_string().contains("version 7"));
    }

    #[test]
    fn memory_of_a_host_with_other_records_or_none_named_is_refused() {
        for (theirs, advice) in [
            (FINGERPRINT ^ 1, "install the same version"),
            (0, "the host is the older one"),
        ] {
            let (_memory, fd) = SharedMemory::create(CAPACITY).unwrap();
            rustix::io::pwrite(&fd, &theirs.to_ne_bytes(), 16).unwrap();
            let error = SharedMemory::open(&fd).unwrap_err();
            assert!(matches!(error, OpenError::Records { .. }), "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }

    #[test]
    fn what_is_no_channel_is_refused() {
        let unsealed = rustix::fs::memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&unsealed, 65536).unwrap();
        assert!(matches!(
            SharedMemory::open(&unsealed),
            Err(OpenError::NotAChannel)
        ));
        let (_memory, fd) = SharedMemory::create(CAPACITY).unwrap();
        // A size that is not the file's.
        rustix::io::pwrite(&fd, &65536u32.to_ne_bytes(), 8).unwrap();
        assert!(matches!(
            SharedMemory::open(&fd),
            Err(OpenError::NotAChannel)
        ));
    }

    #[test]
    fn a_capacity_out_of_range_is_refused() {
        for events in [0, 1, 2048, 5000, u32::MAX] {
            let capacity = Capacity {
                events,
                commands: 4096,
            };
            assert!(SharedMemory::create(capacity).is_err(), "{events}");
        }
    }
}
