//! A chat in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::Fault;
use super::reading::Asked;

const MOST_CHARACTERS: usize = 2000;
const JSON: &str = "Content-Type: application/json\r\n";
const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

/// People, sessions and rooms.
#[derive(Default)]
pub(super) struct Chat {
    passwords: BTreeMap<String, String>,
    /// People who have begun a session, by its token.
    sessions: BTreeMap<String, String>,
    rooms: BTreeMap<String, Room>,
}

#[derive(Default)]
struct Room {
    password: String,
    members: BTreeSet<String>,
    messages: Vec<(String, String)>,
}

/// A status, and an object or a page.
type Answered = Result<(u16, Value), u16>;

/// The answer to a target of the chat.
pub(super) fn content(
    asked: &Asked,
    fault: Fault,
    chat: &Mutex<Chat>,
) -> Option<(u16, &'static str, Vec<u8>)> {
    let path: Vec<&str> = asked.path.split('/').skip(1).collect();
    let mut chat = chat.lock().expect("chat");
    let answered = match (asked.method.as_str(), path.as_slice()) {
        ("POST", ["register"]) => chat.register(asked),
        ("POST", ["login"]) => chat.login(asked, fault),
        ("POST", ["rooms"]) => chat.open(asked),
        ("POST", ["rooms", room, "join"]) => chat.join(asked, room, fault),
        ("GET", ["rooms", room]) => chat.page(asked, room, fault),
        ("GET", ["rooms", room, "messages"]) => chat.read(asked, room, fault),
        ("POST", ["rooms", room, "messages"]) => chat.post(asked, room, fault),
        _ => return None,
    };
    Some(match answered {
        Ok((status, Value::String(page))) => (status, HTML, page.into_bytes()),
        Ok((status, value)) => (status, JSON, value.to_string().into_bytes()),
        Err(status) => (status, JSON, b"{}".to_vec()),
    })
}

impl Chat {
    fn register(&mut self, asked: &Asked) -> Answered {
        let name = text_of(asked, "name")?;
        self.passwords.insert(name.clone(), text_of(asked, "password")?);
        Ok((201, self.begin(name)))
    }

    fn login(&mut self, asked: &Asked, fault: Fault) -> Answered {
        let (name, password) = (text_of(asked, "name")?, text_of(asked, "password")?);
        let right = self.passwords.get(&name) == Some(&password) || fault == Fault::AnyPassword;
        if right { Ok((200, self.begin(name))) } else { Err(401) }
    }

    fn begin(&mut self, name: String) -> Value {
        let token = format!("t{}", self.sessions.len());
        self.sessions.insert(token.clone(), name);
        json!({ "token": token })
    }

    fn user(&self, asked: &Asked, fault: Fault) -> Result<String, u16> {
        let known = asked.token.as_ref().and_then(|token| self.sessions.get(token)).cloned();
        let anybody = || (fault == Fault::AnySession).then(|| "anybody".to_owned());
        known.or_else(anybody).ok_or(401)
    }

    fn open(&mut self, asked: &Asked) -> Answered {
        let user = self.user(asked, Fault::None)?;
        let (name, password) = (text_of(asked, "room")?, text_of(asked, "password")?);
        let members = BTreeSet::from([user]);
        self.rooms.insert(name.clone(), Room { password, members, messages: Vec::new() });
        Ok((201, json!({ "room": name })))
    }

    fn join(&mut self, asked: &Asked, room: &str, fault: Fault) -> Answered {
        let (user, password) = (self.user(asked, fault)?, text_of(asked, "password")?);
        let room = self.rooms.get_mut(room).ok_or(404_u16)?;
        if room.password != password && fault != Fault::AnyPassword {
            return Err(403);
        }
        room.members.insert(user);
        Ok((200, json!({})))
    }

    /// The room and who enters it.
    fn enter(&mut self, asked: &Asked, room: &str, fault: Fault) -> Result<(&mut Room, String), u16> {
        let user = self.user(asked, fault)?;
        let room = self.rooms.get_mut(room).ok_or(404_u16)?;
        let is_open = matches!(fault, Fault::OpenRooms | Fault::AnySession);
        if is_open || room.members.contains(&user) { Ok((room, user)) } else { Err(403) }
    }

    fn page(&mut self, asked: &Asked, room: &str, fault: Fault) -> Answered {
        let (room, _) = self.enter(asked, room, fault)?;
        let escape = |text: &str| match fault {
            Fault::Unescaped => text.to_owned(),
            _ => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
        };
        let lines: String =
            room.messages.iter().map(|(_, text)| format!("<li>{}</li>", escape(text))).collect();
        Ok((200, Value::String(format!("<!DOCTYPE html><title>Room</title><ul>{lines}</ul>"))))
    }

    fn read(&mut self, asked: &Asked, room: &str, fault: Fault) -> Answered {
        let (room, _) = self.enter(asked, room, fault)?;
        let limit = asked.target.split_once("limit=").and_then(|(_, limit)| limit.parse().ok());
        let (all, limit) = (room.messages.as_slice(), limit.unwrap_or(100));
        let shown = match fault {
            Fault::OldestMessages => &all[..all.len().min(limit)],
            _ => &all[all.len().saturating_sub(limit)..],
        };
        let list = shown.iter().map(|(from, text)| json!({ "from": from, "text": text }));
        Ok((200, list.collect()))
    }

    fn post(&mut self, asked: &Asked, room: &str, fault: Fault) -> Answered {
        let (room, user) = self.enter(asked, room, fault)?;
        let text = text_of(asked, "text");
        let good = |text: &String| {
            fault == Fault::AnyMessage || (1..=MOST_CHARACTERS).contains(&text.chars().count())
        };
        let text = text.ok().filter(good).ok_or(400_u16)?;
        if fault != Fault::KeepsNoMessages {
            room.messages.push((user, text));
        }
        Ok((201, json!({})))
    }
}

fn text_of(asked: &Asked, key: &str) -> Result<String, u16> {
    let value: Value = serde_json::from_slice(&asked.body).map_err(|_| 400_u16)?;
    value[key].as_str().map(str::to_owned).ok_or(400)
}
