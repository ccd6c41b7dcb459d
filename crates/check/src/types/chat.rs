//! A chat: people, rooms with passwords, and messages that are kept (WORKLOADS.md#the-chat).
//!
//! Every rule makes people and a room of its own, so that rules may be asked together and again.

use assay_model::conformance::Severity::Must;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection};
use crate::rule::Rule;
use crate::site::Site;

const SOURCE: &str = "assay, chat";
const PASSWORD: &str = "a long enough password";
const WRONG_PASSWORD: &str = "some other password";
/// Text that is a tag, an attribute's end and an entity to a page that does not escape it.
const HOSTILE: &str = "<script>alert('&amp;')</script>\"";
/// Bytes of a message that is too long.
const TOO_LONG_BYTES: usize = 2001;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "chat-read-back",
        Must,
        SOURCE,
        "A posted message is read back by others of the room, as it was, with who said it.",
        read_back,
    ),
    Rule::new(
        "chat-order",
        Must,
        SOURCE,
        "The last messages come, as many as asked for, the newest last.",
        order,
    ),
    Rule::new("chat-login", Must, SOURCE, "A wrong password begins no session, the right one does.", login),
    Rule::new(
        "chat-session",
        Must,
        SOURCE,
        "Without a session, or with an unknown one, nothing is read or posted.",
        session,
    ),
    Rule::new(
        "chat-room",
        Must,
        SOURCE,
        "Only who gives the password of a room reads and posts there.",
        room_password,
    ),
    Rule::new("chat-escaped", Must, SOURCE, "The page of a room shows messages escaped.", escaped),
    Rule::new("chat-body", Must, SOURCE, "A body that is no message is refused and not kept.", body),
];

/// Somebody with a session.
struct Person<'a> {
    site: &'a Site,
    name: String,
    token: String,
}

impl<'a> Person<'a> {
    /// Somebody whom the server has not known before.
    fn new(site: &'a Site) -> Result<Self, Objection> {
        let mut person = Self { site, name: unique("person"), token: String::new() };
        let who = json!({ "name": person.name, "password": PASSWORD });
        let (talk, answer) = person.post("/register", &who)?;
        talk.demand(answer.status() == 201, "nobody can register")?;
        person.token = token_of(&talk, &answer)?;
        Ok(person)
    }

    /// A visitor like this one with a session that the server never began.
    fn impostor(&self) -> Self {
        Self { site: self.site, name: self.name.clone(), token: unique("token") }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<(Dialogue, Answer), Objection> {
        let mut fields = match body {
            "" => String::new(),
            _ => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
        };
        if !self.token.is_empty() {
            fields += &format!("Authorization: Bearer {}\r\n", self.token);
        }
        let mut talk = self.site.open()?;
        talk.send(&self.site.request_for(method, path, &fields, body))?;
        let answer = talk.answer()?;
        Ok((talk, answer))
    }

    fn get(&self, path: &str) -> Result<(Dialogue, Answer), Objection> {
        self.ask("GET", path, "")
    }

    fn post(&self, path: &str, value: &Value) -> Result<(Dialogue, Answer), Objection> {
        self.ask("POST", path, &value.to_string())
    }

    /// Opens a new room and joins it.
    fn open_room(&self) -> Result<Room, Objection> {
        let room = Room(unique("room"));
        let (talk, answer) = self.post("/rooms", &json!({ "room": room.0, "password": PASSWORD }))?;
        talk.demand(answer.status() == 201, "no room can be opened")?;
        Ok(room)
    }

    fn join(&self, room: &Room, password: &str) -> Result<(Dialogue, Answer), Objection> {
        self.post(&room.path("/join"), &json!({ "password": password }))
    }

    fn say(&self, room: &Room, text: &str) -> Keeping {
        let (talk, answer) = self.post(&room.path("/messages"), &json!({ "text": text }))?;
        talk.demand(answer.status() == 201, "a message cannot be posted")
    }

    /// The last messages of a room, as who and what, with the dialogue for the evidence.
    fn read(&self, room: &Room, limit: usize) -> Result<(Dialogue, Vec<(String, String)>), Objection> {
        let (talk, answer) = self.get(&room.path(&format!("/messages?limit={limit}")))?;
        talk.demand(answer.status() == 200, "messages cannot be read")?;
        let list: Vec<Value> = serde_json::from_slice(&answer.body)
            .map_err(|error| talk.fault(&format!("the messages are no JSON list ({error})")))?;
        let text = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let said = list.iter().map(|message| (text(message, "from"), text(message, "text"))).collect();
        Ok((talk, said))
    }

    /// Demands that it may neither read nor post.
    fn is_kept_out(&self, room: &Room, why: &str) -> Keeping {
        let (talk, answer) = self.get(&room.path("/messages"))?;
        talk.demand(is_refusal(&answer), &format!("messages are read {why}"))?;
        let (talk, answer) = self.post(&room.path("/messages"), &json!({ "text": "let me in" }))?;
        talk.demand(is_refusal(&answer), &format!("a message is posted {why}"))
    }
}

/// A room's name.
struct Room(String);

impl Room {
    fn path(&self, rest: &str) -> String {
        format!("/rooms/{}{rest}", self.0)
    }
}

/// A name that nobody has had.
fn unique(what: &str) -> String {
    format!("{what}-{:016x}", rand::random::<u64>())
}

fn token_of(talk: &Dialogue, answer: &Answer) -> Result<String, Objection> {
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let token = value["token"].as_str().filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
    token.map(str::to_owned).ok_or_else(|| talk.fault("the answer has no token"))
}

/// 401 and 403: which of them is a matter of taste where both are true (RFC 9110 §15.5.4).
fn is_refusal(answer: &Answer) -> bool {
    matches!(answer.status(), 401 | 403)
}

fn read_back(site: &Site) -> Keeping {
    let (writer, reader) = (Person::new(site)?, Person::new(site)?);
    let room = writer.open_room()?;
    let (talk, answer) = reader.join(&room, PASSWORD)?;
    talk.demand(answer.status() == 200, "nobody can join with the right password")?;
    let said = format!("{} — 計測", unique("message"));
    writer.say(&room, &said)?;
    let (talk, found) = reader.read(&room, 1)?;
    talk.demand(found == [(writer.name.clone(), said)], "what was posted is not what is read")
}

fn order(site: &Site) -> Keeping {
    let person = Person::new(site)?;
    let room = person.open_room()?;
    for text in ["one", "two", "three"] {
        person.say(&room, text)?;
    }
    for (limit, wanted) in [(2, &["two", "three"][..]), (50, &["one", "two", "three"][..])] {
        let (talk, found) = person.read(&room, limit)?;
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        talk.demand(texts == wanted, &format!("not the last {limit} of one, two, three"))?;
    }
    Ok(())
}

fn login(site: &Site) -> Keeping {
    let person = Person::new(site)?;
    let who = |password: &str| json!({ "name": person.name, "password": password });
    let (talk, answer) = person.post("/login", &who(WRONG_PASSWORD))?;
    talk.demand(is_refusal(&answer), "a wrong password is taken")?;
    let (talk, answer) = person.post("/login", &who(PASSWORD))?;
    talk.demand(answer.status() == 200, "the right password is refused")?;
    let room = person.open_room()?;
    let again = Person { site, name: person.name.clone(), token: token_of(&talk, &answer)? };
    let (talk, answer) = again.join(&room, PASSWORD)?;
    talk.demand(answer.status() == 200, "the session of a login is none")
}

fn session(site: &Site) -> Keeping {
    let person = Person::new(site)?;
    let room = person.open_room()?;
    let nobody = Person { token: String::new(), ..person.impostor() };
    person.impostor().is_kept_out(&room, "with an unknown session")?;
    nobody.is_kept_out(&room, "without a session")?;
    let (talk, found) = person.read(&room, 1)?;
    talk.demand(found.is_empty(), "what was refused was kept")
}

fn room_password(site: &Site) -> Keeping {
    let (owner, stranger) = (Person::new(site)?, Person::new(site)?);
    let room = owner.open_room()?;
    stranger.is_kept_out(&room, "without joining")?;
    let (talk, answer) = stranger.join(&room, WRONG_PASSWORD)?;
    talk.demand(is_refusal(&answer), "a wrong password opens the room")?;
    stranger.is_kept_out(&room, "after a wrong password")?;
    let (talk, answer) = stranger.join(&room, PASSWORD)?;
    talk.demand(answer.status() == 200, "the right password does not open the room")?;
    stranger.say(&room, "now I may")
}

fn escaped(site: &Site) -> Keeping {
    let person = Person::new(site)?;
    let room = person.open_room()?;
    person.say(&room, HOSTILE)?;
    let (talk, answer) = person.get(&room.path(""))?;
    talk.demand(answer.status() == 200, "the room has no page")?;
    let page = String::from_utf8_lossy(&answer.body);
    talk.demand(!page.contains("<script>alert("), "a message of the page is a script")?;
    let page = assay_model::html::Page::read(&page).ok_or_else(|| talk.fault("a tag has no end"))?;
    talk.demand(page.texts().any(|text| text.contains(HOSTILE)), "the message is not on the page")
}

fn body(site: &Site) -> Keeping {
    let person = Person::new(site)?;
    let room = person.open_room()?;
    let long = json!({ "text": "x".repeat(TOO_LONG_BYTES) }).to_string();
    for body in ["{", "[]", "{}", r#"{"text":1}"#, r#"{"text":""}"#, long.as_str()] {
        let (talk, answer) = person.ask("POST", &room.path("/messages"), body)?;
        let refused = (400..500).contains(&answer.status());
        talk.demand(refused, "a body that is no message is taken")?;
    }
    let (talk, found) = person.read(&room, 1)?;
    talk.demand(found.is_empty(), "what was refused was kept")
}
