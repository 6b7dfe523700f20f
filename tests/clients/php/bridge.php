<?php
// What the PHP bridges share: the loop of ../python/bridge.py.

// Runs one verb after another. $verbs: name => function of the verb's arguments that gives what is to be answered.
function serve(array $about, array $verbs): void
{
    tell($about);
    while (($line = fgets(STDIN)) !== false) {
        $request = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
        $verb = array_shift($request);
        try {
            tell($verbs[$verb](...$request));
        } catch (Exception $error) {
            tell(failure($error->getMessage()));
        }
    }
}

function failure(string $text): array
{
    return ['error' => $text];
}

function tell($value): void
{
    echo json_encode($value, JSON_THROW_ON_ERROR), "\n";
}
