<?php
// A server for the workloads hello and json: one script, run anew for every request.
declare(strict_types=1);

match ($_SERVER['DOCUMENT_URI']) {
    '/' => answer('text/plain', 'hello'),
    '/json' => answer('application/json', json_encode(['message' => 'Hello, World!'])),
    default => answer('text/plain', 'not found', 404),
};

// A length keeps FastCGI's answer from being chunked.
function answer(string $type, string $body, int $status = 200): void
{
    http_response_code($status);
    header("Content-Type: $type");
    header('Content-Length: ' . strlen($body));
    echo $body;
}
