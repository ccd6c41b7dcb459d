//! Descriptors handed from one process to another (SCM_RIGHTS, unix(7)).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// What accompanies a descriptor, and what is said instead of one.
const HERE: u8 = b'+';
const NONE: u8 = b'-';

/// Hands over a descriptor, or says that there is none.
pub(crate) fn hand_over(stream: &UnixStream, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let word = [if descriptors.is_empty() { NONE } else { HERE }];
    sendmsg(stream.as_fd(), &[IoSlice::new(&word)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what [`hand_over`] gave.
pub(crate) fn take(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    let read =
        recvmsg(stream.as_fd(), &mut [IoSliceMut::new(&mut word)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if read.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    rights.flatten().next().ok_or_else(|| io::Error::other("it has no socket to give"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_descriptor_arrives_and_its_absence_too() {
        let (here, there) = UnixStream::pair().expect("pair");
        let (mut reader, writer) = std::io::pipe().expect("pipe");
        hand_over(&here, Some(writer.as_fd())).expect("handed over");
        drop(writer);
        let taken = take(&there).expect("taken");
        std::fs::File::from(taken).write_all(b"x").expect("written");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "x");
        hand_over(&here, None).expect("said");
        assert!(take(&there).is_err());
        drop(here);
        assert_eq!(take(&there).expect_err("end").kind(), io::ErrorKind::UnexpectedEof);
    }
}
