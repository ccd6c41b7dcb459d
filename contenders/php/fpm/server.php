<?php
// hello, json, plaintext, byte and the database types, without a framework: one script, run anew for every request.
declare(strict_types=1);

const ROWS = 10000;
const MAX_QUERIES = 500;

match ($_SERVER['DOCUMENT_URI']) {
    '/' => text('hello'),
    '/plaintext' => text('Hello, World!'),
    '/byte' => text('!'),
    '/json' => json(['message' => 'Hello, World!']),
    '/db' => json(read([randomId()])[0]),
    '/queries' => json(read(randomIds(wanted()))),
    '/updates' => json(update(wanted())),
    '/fortunes' => page(fortunes()),
    default => stored($_SERVER['DOCUMENT_URI']),
};

function text(string $body, int $status = 200): void
{
    http_response_code($status);
    answer('text/plain', $body);
}

// A text of $FILES, of which serve.sh made a copy.
function stored(string $path): void
{
    $known = preg_match('~^/body/\d+$~D', $path) && is_file(getenv('SCRATCH') . "/files$path");
    $known ? text(file_get_contents(getenv('SCRATCH') . "/files$path")) : text('not found', 404);
}

function json(array $value): void
{
    answer('application/json', json_encode($value));
}

function page(array $fortunes): void
{
    $rows = '';
    foreach ($fortunes as $id => $message) {
        $rows .= "<tr><td>$id</td><td>" . htmlspecialchars($message) . '</td></tr>';
    }
    answer('text/html; charset=utf-8', '<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>'
        . "<tr><th>id</th><th>message</th></tr>$rows</table></body></html>");
}

// A length keeps FastCGI's answer from being chunked.
function answer(string $type, string $body): void
{
    header("Content-Type: $type");
    header('Content-Length: ' . strlen($body));
    echo $body;
}

// Each row with a query of its own.
function read(array $ids): array
{
    $select = database()->prepare('SELECT id, randomnumber FROM world WHERE id = ?');
    return array_map(function (int $id) use ($select): array {
        $select->execute([$id]);
        [$id, $number] = $select->fetch(PDO::FETCH_NUM);
        return ['id' => $id, 'randomNumber' => $number];
    }, $ids);
}

// One statement for all rows, in the order of their ids, so that two requests cannot wait for each other's locks.
function update(int $n): array
{
    $ids = $n === 1 ? [randomId()] : array_map(fn (int $key): int => $key + 1, array_rand(range(1, ROWS), $n));
    $worlds = read($ids);
    foreach ($worlds as &$world) {
        $world['randomNumber'] = otherThan($world['randomNumber']);
    }
    $array = fn (string $key): string => '{' . implode(',', array_column($worlds, $key)) . '}';
    database()->prepare('UPDATE world SET randomnumber = new.number
        FROM (SELECT unnest(?::int[]) AS id, unnest(?::int[]) AS number) AS new
        WHERE world.id = new.id')->execute([$array('id'), $array('randomNumber')]);
    return $worlds;
}

function fortunes(): array
{
    $fortunes = database()->query('SELECT id, message FROM fortune')->fetchAll(PDO::FETCH_KEY_PAIR);
    $fortunes[0] = 'Additional fortune added at request time.';
    asort($fortunes, SORT_STRING);
    return $fortunes;
}

function database(): PDO
{
    $url = parse_url(getenv('DATABASE_URL') ?: exit(text('there is no database', 503)));
    $name = substr($url['path'], 1);
    return new PDO("pgsql:host={$url['host']};port={$url['port']};dbname=$name", $url['user'] ?? '', $url['pass'] ?? '', [
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_EMULATE_PREPARES => false,
    ]);
}

// How many rows are wanted: 1 when it is no number or too small, 500 at most.
function wanted(): int
{
    $wanted = filter_var($_GET['queries'] ?? 1, FILTER_VALIDATE_INT);
    return min(max($wanted === false ? 1 : $wanted, 1), MAX_QUERIES);
}

function randomIds(int $n): array
{
    return array_map(randomId(...), range(1, $n));
}

function randomId(): int
{
    return mt_rand(1, ROWS);
}

// A number other than the row's own: writing the same again would change nothing.
function otherThan(int $current): int
{
    while (($number = randomId()) === $current);
    return $number;
}
