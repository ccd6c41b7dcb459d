//! What the Rust contenders answer from: the tables World and Fortune of the TechEmpower tests, read and written with
//! tokio-postgres, and texts of several lengths.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use askama::Template;
use deadpool_postgres::{Manager, Pool, PoolError};
use futures_util::future::try_join_all;
use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize};
use tokio_postgres::{NoTls, Row};

const ROWS: i32 = 10_000;
const MAX_QUERIES: i64 = 500;
/// Connections to the database for each CPU given: enough to keep both sides busy, far below PostgreSQL's limit.
const CONNECTIONS_PER_CPU: usize = 16;
const SELECT: &str = "SELECT id, randomnumber FROM world WHERE id = $1";
const UPDATE: &str = "UPDATE world SET randomnumber = new.number \
    FROM (SELECT unnest($1::int[]) AS id, unnest($2::int[]) AS number) AS new WHERE world.id = new.id";

/// The texts of several lengths in `$FILES` with their paths, read once and kept for the life of the process.
pub fn bodies() -> io::Result<Vec<(String, &'static str)>> {
    let folder = PathBuf::from(std::env::var_os("FILES").unwrap_or_default()).join("body");
    let text = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        let text = std::fs::read_to_string(entry.path())?;
        Ok((format!("/body/{}", entry.file_name().display()), &*text.leak()))
    };
    std::fs::read_dir(folder)?.map(text).collect()
}

/// A row of the table World.
#[derive(Clone, Copy, Serialize)]
pub struct World {
    id: i32,
    #[serde(rename = "randomNumber")]
    random_number: i32,
}

/// A row of the table Fortune.
pub struct Fortune {
    id: i32,
    message: String,
}

/// The page of all fortunes; the template escapes what is in them.
#[derive(Template)]
#[template(path = "fortunes.html")]
pub struct Fortunes {
    fortunes: Vec<Fortune>,
}

/// How many rows a request wants: 1 when it is no number or too small, 500 at most.
#[derive(Clone, Copy, Deserialize)]
pub struct Wanted {
    #[serde(alias = "queries", alias = "count", default, deserialize_with = "leniently")]
    rows: Option<i64>,
}

impl Wanted {
    pub fn rows(self) -> usize {
        self.rows.unwrap_or(1).clamp(1, MAX_QUERIES) as usize
    }
}

fn leniently<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(String::deserialize(from)?.parse().ok())
}

/// A pool of connections, and the rows that may be served from memory. Clones share both.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    cache: Arc<[World]>,
}

impl Store {
    /// Connects to `$DATABASE_URL`; `None` when there is none, since most workloads need no database.
    pub async fn open(workers: usize) -> Result<Option<Self>, Box<dyn Error>> {
        let Ok(url) = std::env::var("DATABASE_URL") else { return Ok(None) };
        let manager = Manager::new(url.parse()?, NoTls);
        let pool = Pool::builder(manager).max_size(CONNECTIONS_PER_CPU * workers).build()?;
        let rows = pool.get().await?.query("SELECT id, randomnumber FROM world", &[]).await?;
        Ok(Some(Self { pool, cache: rows.iter().map(world).collect() }))
    }

    /// A random row.
    pub async fn one(&self) -> Result<World, PoolError> {
        let client = self.pool.get().await?;
        let select = client.prepare_cached(SELECT).await?;
        Ok(world(&client.query_one(&select, &[&random_id()]).await?))
    }

    /// `n` random rows, each with a query of its own, pipelined over one connection.
    pub async fn many(&self, n: usize) -> Result<Vec<World>, PoolError> {
        self.read((0..n).map(|_| random_id()).collect()).await
    }

    /// Reads `n` rows one by one, gives each a new number and writes them with one statement, in the order of their
    /// ids, so that two requests cannot wait for each other's locks.
    pub async fn update(&self, n: usize) -> Result<Vec<World>, PoolError> {
        let mut worlds = self.read(distinct_ids(n)).await?;
        for world in &mut worlds {
            world.random_number = other_than(world.random_number);
        }
        let ids: Vec<i32> = worlds.iter().map(|world| world.id).collect();
        let numbers: Vec<i32> = worlds.iter().map(|world| world.random_number).collect();
        let client = self.pool.get().await?;
        let update = client.prepare_cached(UPDATE).await?;
        client.execute(&update, &[&ids, &numbers]).await?;
        Ok(worlds)
    }

    /// `n` random rows from memory.
    pub fn cached(&self, n: usize) -> Vec<World> {
        (0..n).map(|_| self.cache[rand::rng().random_range(0..self.cache.len())]).collect()
    }

    /// All fortunes and the one that every request adds, sorted by message.
    pub async fn fortunes(&self) -> Result<Fortunes, PoolError> {
        let client = self.pool.get().await?;
        let select = client.prepare_cached("SELECT id, message FROM fortune").await?;
        let rows = client.query(&select, &[]).await?;
        let mut fortunes: Vec<_> =
            rows.iter().map(|row| Fortune { id: row.get(0), message: row.get(1) }).collect();
        fortunes.push(Fortune { id: 0, message: "Additional fortune added at request time.".to_owned() });
        fortunes.sort_by(|a, b| a.message.cmp(&b.message));
        Ok(Fortunes { fortunes })
    }

    async fn read(&self, ids: Vec<i32>) -> Result<Vec<World>, PoolError> {
        let client = self.pool.get().await?;
        let select = client.prepare_cached(SELECT).await?;
        let (client, select) = (&client, &select);
        let one = |id: i32| async move { client.query_one(select, &[&id]).await.map(|row| world(&row)) };
        Ok(try_join_all(ids.into_iter().map(one)).await?)
    }
}

fn world(row: &Row) -> World {
    World { id: row.get(0), random_number: row.get(1) }
}

fn random_id() -> i32 {
    rand::rng().random_range(1..=ROWS)
}

fn distinct_ids(n: usize) -> Vec<i32> {
    let mut ids = BTreeSet::new();
    while ids.len() < n {
        ids.insert(random_id());
    }
    ids.into_iter().collect()
}

/// A number other than the row's own: writing the same again would change nothing.
fn other_than(current: i32) -> i32 {
    std::iter::repeat_with(random_id).find(|number| *number != current).unwrap_or(current)
}
