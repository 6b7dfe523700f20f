/* hiredis, the blocking calls. A bridge: see ../python/bridge.py. hiredis connects and no more: logging in, choosing and
 * naming is the caller's work, and so is connecting again after a break. */
#include <cjson/cJSON.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, LINE_BYTES = 1 << 20 };

static redisContext *redis;
static cJSON *options;

static cJSON *failure(const char *text) {
    cJSON *told = cJSON_CreateObject();
    cJSON_AddStringToObject(told, "error", text);
    return told;
}

/* A reply as JSON; the reply is freed. Without one, the error of the connection. */
static cJSON *told(redisReply *reply) {
    cJSON *value;
    char digits[24];
    if (reply == NULL)
        return failure(redis->errstr);
    switch (reply->type) {
    case REDIS_REPLY_ERROR:
        value = failure(reply->str);
        break;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
        value = cJSON_CreateString(reply->str);
        break;
    case REDIS_REPLY_INTEGER:
        /* As text: a lease's number has more digits than cJSON writes of a double. */
        snprintf(digits, sizeof digits, "%lld", reply->integer);
        value = cJSON_CreateRaw(digits);
        break;
    case REDIS_REPLY_ARRAY:
        value = cJSON_CreateArray();
        for (size_t i = 0; i < reply->elements; i++) {
            cJSON_AddItemToArray(value, told(reply->element[i]));
            reply->element[i] = NULL;
        }
        break;
    case REDIS_REPLY_NIL:
        value = cJSON_CreateNull();
        break;
    default:
        value = failure("a reply of a type that RESP2 does not have");
    }
    freeReplyObject(reply);
    return value;
}

/* The words of a JSON array, for the calls that take argc and argv. */
static int words_of(const cJSON *array, const char **words) {
    int count = 0;
    const cJSON *word;
    cJSON_ArrayForEach(word, array) {
        if (count == WORDS_MAX)
            abort();
        words[count++] = word->valuestring;
    }
    return count;
}

static cJSON *call(const cJSON *array) {
    const char *words[WORDS_MAX];
    int count = words_of(array, words);
    return told(redisCommandArgv(redis, count, words, NULL));
}

static void append(const cJSON *array) {
    const char *words[WORDS_MAX];
    int count = words_of(array, words);
    redisAppendCommandArgv(redis, count, words, NULL);
}

static cJSON *next_reply(void) {
    void *reply = NULL;
    redisGetReply(redis, &reply);
    return told(reply);
}

static cJSON *pipeline(const cJSON *commands) {
    cJSON *replies = cJSON_CreateArray();
    const cJSON *words;
    cJSON_ArrayForEach(words, commands) append(words);
    cJSON_ArrayForEach(words, commands) cJSON_AddItemToArray(replies, next_reply());
    return replies;
}

static cJSON *transaction(const cJSON *commands) {
    int count = cJSON_GetArraySize(commands);
    redisAppendCommand(redis, "MULTI");
    const cJSON *words;
    cJSON_ArrayForEach(words, commands) append(words);
    redisAppendCommand(redis, "EXEC");
    for (int i = 0; i < 1 + count; i++)
        cJSON_Delete(next_reply());
    return next_reply();
}

static cJSON *scan(const char *pattern) {
    cJSON *found = cJSON_CreateArray();
    char cursor[24] = "0";
    do {
        redisReply *page = redisCommand(redis, "SCAN %s MATCH %s", cursor, pattern);
        if (page == NULL || page->type != REDIS_REPLY_ARRAY || page->elements != 2) {
            cJSON_Delete(found);
            return told(page);
        }
        snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        for (size_t i = 0; i < page->element[1]->elements; i++)
            cJSON_AddItemToArray(found, cJSON_CreateString(page->element[1]->element[i]->str));
        freeReplyObject(page);
    } while (strcmp(cursor, "0") != 0);
    return found;
}

/* Reads what is pushed until something of that kind comes. Its kind is in front; then the channel and the rest. */
static cJSON *next_pushed(const char *kind) {
    for (;;) {
        cJSON *pushed = next_reply();
        const cJSON *found = cJSON_IsArray(pushed) ? cJSON_GetArrayItem(pushed, 0) : NULL;
        if (found == NULL || strcmp(found->valuestring, kind) == 0)
            return pushed;
        cJSON_Delete(pushed);
    }
}

static cJSON *listen_to(const char *channel) {
    redisAppendCommand(redis, "SUBSCRIBE %s", channel);
    cJSON *message = next_pushed("message");
    if (!cJSON_IsArray(message))
        return message;
    redisAppendCommand(redis, "UNSUBSCRIBE %s", channel);
    cJSON_Delete(next_pushed("unsubscribe"));
    cJSON_DeleteItemFromArray(message, 0);
    return message;
}

static const char *option(const char *name) {
    const cJSON *value = cJSON_GetObjectItem(options, name);
    return value ? value->valuestring : NULL;
}

/* What every connection begins with; NULL if all of it was accepted. */
static cJSON *introduce(void) {
    const char *user = option("user"), *password = option("password"), *name = option("name");
    const cJSON *database = cJSON_GetObjectItem(options, "database");
    redisReply *reply = NULL;
    if (redis->err)
        return failure(redis->errstr);
    if (user)
        reply = redisCommand(redis, "AUTH %s %s", user, password);
    else if (password)
        reply = redisCommand(redis, "AUTH %s", password);
    if (reply && reply->type == REDIS_REPLY_ERROR)
        return told(reply);
    freeReplyObject(reply);
    if (database)
        freeReplyObject(redisCommand(redis, "SELECT %d", database->valueint));
    if (name)
        freeReplyObject(redisCommand(redis, "CLIENT SETNAME %s", name));
    return NULL;
}

static void tell(cJSON *value) {
    char *line = cJSON_PrintUnformatted(value);
    puts(line);
    fflush(stdout);
    free(line);
    cJSON_Delete(value);
}

static cJSON *answer(const char *verb, const cJSON *argument) {
    if (redis->err) {                                       /* the call before this one found the connection broken */
        redisReconnect(redis);
        cJSON *refused = introduce();
        if (refused)
            return refused;
    }
    if (strcmp(verb, "call") == 0)
        return call(argument);
    if (strcmp(verb, "pipeline") == 0)
        return pipeline(argument);
    if (strcmp(verb, "transaction") == 0)
        return transaction(argument);
    if (strcmp(verb, "scan") == 0)
        return scan(argument->valuestring);
    if (strcmp(verb, "listen") == 0)
        return listen_to(argument->valuestring);
    return failure("no such verb");
}

int main(int argc, char **argv) {
    static char line[LINE_BYTES];
    options = cJSON_Parse(argv[argc - 1]);
    redis = redisConnect(option("host"), cJSON_GetObjectItem(options, "port")->valueint);
    cJSON *refused = introduce();
    if (refused) {
        tell(refused);
        return 0;
    }
    cJSON *about = cJSON_CreateObject();
    char client[32];
    snprintf(client, sizeof client, "hiredis %d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    cJSON_AddStringToObject(about, "client", client);
    cJSON_AddFalseToObject(about, "resends");
    cJSON_AddTrueToObject(about, "renames");
    tell(about);
    while (fgets(line, sizeof line, stdin)) {
        cJSON *request = cJSON_Parse(line);
        tell(answer(cJSON_GetArrayItem(request, 0)->valuestring, cJSON_GetArrayItem(request, 1)));
        cJSON_Delete(request);
    }
    redisFree(redis);
    cJSON_Delete(options);
    return 0;
}
