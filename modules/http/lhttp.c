/* rtl.native.http: what rtl.wire and its native implementation stand on. Nothing else requires
 * it. */
#include "http/head.h"
#include "http/header.h"
#include "http/http.h"
#include "http/lhttp.h"
#include "http/stream.h"
#include "secret/lsecret.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>
#include <strings.h>

int luaopen_rtl_native_http(lua_State *L);

#define REQUEST "rtl.http.request"
#define STREAM "rtl.http.stream"

struct request {
  struct rtl_http http;       /* borrows the headers */
  struct rtl_headers headers;
  int hidden;                 /* the body is handed out as secrets */
};

enum { REQUESTED = 1, ROUTE, HANDLE }; /* stack places in l_start and l_connect */

/* ---- options: fields of the table at index `from`; their values stay on the stack, so that what
 * is borrowed from them lives as long as the call ---- */

static int bad_field(lua_State *L, const char *name, const char *expected) {
  return luaL_error(L, "bad field '%s' (%s expected)", name, expected);
}

static struct rtl_span opt_bytes(lua_State *L, int from, const char *name) {
  struct rtl_span span = {NULL, 0};
  luaL_checkstack(L, 2, "too many options");
  if (lua_getfield(L, from, name) != LUA_TNIL) {
    span.bytes = rtl_test_bytes(L, -1, &span.size);
    if (span.bytes == NULL) {
      bad_field(L, name, "string or secret");
    }
  }
  return span;
}

static const char *opt_text(lua_State *L, int from, const char *name) {
  struct rtl_span span = opt_bytes(L, from, name);
  if (span.bytes != NULL && strlen(span.bytes) != span.size) {
    bad_field(L, name, "text without NUL");
  }
  return span.bytes;
}

static int opt_flag(lua_State *L, int from, const char *name) {
  lua_getfield(L, from, name);
  int flag = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return flag;
}

static int64_t opt_integer(lua_State *L, int from, const char *name, int64_t otherwise) {
  int is_integer = 1;
  if (lua_getfield(L, from, name) != LUA_TNIL) {
    otherwise = lua_tointegerx(L, -1, &is_integer);
  }
  if (!is_integer || otherwise < -1) {
    bad_field(L, name, "integer, at least 0");
  }
  lua_pop(L, 1);
  return otherwise;
}

/* Seconds to nanoseconds; 0 when the field is nil or false. */
static int64_t opt_seconds(lua_State *L, int from, const char *name) {
  lua_Number seconds = 0;
  if (lua_getfield(L, from, name) != LUA_TNIL && lua_toboolean(L, -1)) {
    seconds = lua_tonumber(L, -1);
    if (!(seconds > 0)) {
      bad_field(L, name, "seconds, more than 0");
    }
  }
  lua_pop(L, 1);
  return seconds > 9e9 ? 0 : (int64_t)ceil(seconds * 1e9);
}

/* Pushes the request's `tls`, a table of certificates or nil, and takes what is in it. */
static void opt_tls(lua_State *L, struct rtl_http_route *route) {
  int kind = lua_getfield(L, REQUESTED, "tls"), from = lua_gettop(L);
  if (kind == LUA_TNIL) {
    return;
  }
  if (kind != LUA_TTABLE) {
    bad_field(L, "tls", "table");
  }
  route->ca = opt_bytes(L, from, "ca");
  route->cert = opt_bytes(L, from, "cert");
  route->key = opt_bytes(L, from, "key");
  route->insecure = opt_flag(L, from, "insecure");
}

static void opt_route(lua_State *L, struct rtl_http_route *route) {
  luaL_checkstack(L, 16, "too many options");
  route->url = opt_text(L, ROUTE, "url");
  if (route->url == NULL) {
    bad_field(L, "url", "string or secret");
  }
  route->connect_to = opt_text(L, ROUTE, "connect_to");
  route->proxy = opt_text(L, ROUTE, "proxy");
  route->ca_file = opt_text(L, ROUTE, "ca_file");
  route->connect_timeout_ns = opt_seconds(L, REQUESTED, "connect_timeout");
  opt_tls(L, route);
}

static struct rtl_span span_of_field(lua_State *L, int index, lua_Integer field) {
  struct rtl_span span = {NULL, 0};
  lua_rawgeti(L, index, field);
  if (lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TUSERDATA) {
    span.bytes = rtl_test_bytes(L, -1, &span.size);
  }
  return span;
}

/* Adds the pair at the top of the stack: {name, value}. 0, or as rtl_headers_add. */
static int add_header(lua_State *L, struct rtl_headers *headers) {
  if (!lua_istable(L, -1)) {
    return -2;
  }
  int pair = lua_gettop(L);
  struct rtl_span name = span_of_field(L, pair, 1);
  struct rtl_span value = span_of_field(L, pair, 2);
  int result = -2;
  if (name.bytes != NULL && value.bytes != NULL) {
    result = rtl_headers_add(headers, name, value);
  }
  lua_settop(L, pair);
  return result;
}

/* {{name, value}, …}; `host`, if the headers have none. What raises leaves the list to its owner,
 * the userdata. */
static void opt_headers(lua_State *L, int from, struct rtl_headers *headers, struct rtl_span host) {
  luaL_checkstack(L, 4, "too many options");
  if (lua_getfield(L, from, "headers") != LUA_TTABLE) {
    bad_field(L, "headers", "table");
  }
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    int result = add_header(L, headers);
    lua_pop(L, 1);
    if (result != 0) {
      luaL_error(L, result == -1 ? "not enough memory" : "bad header number %I", i);
    }
  }
  lua_pop(L, 2);
  if (host.bytes != NULL && !rtl_headers_have(headers, "Host") &&
      rtl_headers_add(headers, (struct rtl_span){"Host", 4}, host) != 0) {
    bad_field(L, "host", "host name");
  }
  if (rtl_headers_drop_unasked(headers) != 0) {
    luaL_error(L, "not enough memory");
  }
}

static void opt_body(lua_State *L, int from, struct rtl_http_options *options) {
  int kind = lua_getfield(L, from, "body");
  lua_pop(L, 1);
  if (kind == LUA_TFUNCTION) {
    options->has_body = options->upload = 1;
  } else {
    options->body = opt_bytes(L, from, "body");
    options->has_body = options->body.bytes != NULL;
    options->copy_body = lua_type(L, -1) == LUA_TUSERDATA; /* a secret may be closed any time */
    lua_setiuservalue(L, HANDLE, 1);                       /* a string lives with the handle */
  }
  options->length = opt_integer(L, from, "length", -1);
}

static void opt_limits(lua_State *L, int from, struct rtl_http_options *options) {
  options->max_headers = (size_t)opt_integer(L, from, "max_headers", 256 * 1024);
  options->max_body = (size_t)opt_integer(L, from, "max_body", 0);
  options->timeout_ns = opt_seconds(L, from, "timeout");
  options->idle_ns = opt_seconds(L, from, "idle");
  options->once = opt_flag(L, from, "once");
  options->gzip = opt_flag(L, from, "gzip");
  options->entire = !opt_flag(L, from, "stream");
}

/* Loads libcurl, or pushes nil, "library" and the reason. */
static int missing(lua_State *L) {
  const char *refused = rtl_multi_open(&rtl_multi_shared);
  if (refused == NULL) {
    return 0;
  }
  luaL_pushfail(L);
  lua_pushliteral(L, "library");
  lua_pushstring(L, refused);
  return 3;
}

/*** http.start(request, route) → handle | nil, "library", message
 * Starts a request. Its fields are those of rtl.wire, without defaults: method, headers ({{name,
 * value}, …}), body (string, secret, or a function, which is not called: the body comes by
 * handle:feed()), length, once, gzip, stream, secret_body, max_headers, max_body, timeout, idle,
 * connect_timeout, tls ({ca, cert, key, insecure}). The route's are url, proxy, ca_file, and, if
 * the URL names another host than the one that is dialled, host (for the header), connect_to. */
static int l_start(lua_State *L) {
  struct rtl_http_options options = {0};
  luaL_checktype(L, REQUESTED, LUA_TTABLE);
  luaL_checktype(L, ROUTE, LUA_TTABLE);
  lua_settop(L, ROUTE);
  if (missing(L) != 0) {
    return 3;
  }
  struct request *self = lua_newuserdatauv(L, sizeof *self, 1);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, REQUEST);
  opt_route(L, &options.route);
  options.method = opt_text(L, REQUESTED, "method");
  if (options.method == NULL) {
    return bad_field(L, "method", "string");
  }
  opt_body(L, REQUESTED, &options);
  opt_limits(L, REQUESTED, &options);
  self->hidden = opt_flag(L, REQUESTED, "secret_body");
  opt_headers(L, REQUESTED, &self->headers, opt_bytes(L, ROUTE, "host"));
  options.headers = self->headers.first;
  if (rtl_http_start(&self->http, &options) != 0) {
    return luaL_error(L, "not enough memory");
  }
  lua_pushvalue(L, HANDLE);
  return 1;
}

static struct request *check_open(lua_State *L) {
  struct request *self = luaL_checkudata(L, 1, REQUEST);
  luaL_argcheck(L, self->http.token != 0, 1, "closed");
  return self;
}

static int request_token(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_open(L)->http.token);
  return 1;
}

static int is_word(struct rtl_span name, const char *word) {
  return name.size == strlen(word) && strncasecmp(name.bytes, word, name.size) == 0;
}

static void push_header(lua_State *L, struct rtl_span name, struct rtl_span value) {
  lua_createtable(L, 2, 0);
  lua_pushlstring(L, name.bytes, name.size);
  lua_rawseti(L, -2, 1);
  lua_pushlstring(L, value.bytes, value.size);
  lua_rawseti(L, -2, 2);
}

/* Pushes {{name, value}, …}. Of an answer that was decoded, two headers tell of bytes that nobody
 * sees. */
static void push_headers(lua_State *L, struct rtl_span rest, int decoded) {
  struct rtl_span name, value;
  lua_Integer count = 0;
  lua_createtable(L, 8, 0);
  while (rtl_head_next(&rest, &name, &value)) {
    if (!decoded || !(is_word(name, "Content-Encoding") || is_word(name, "Content-Length"))) {
      push_header(L, name, value);
      lua_rawseti(L, -2, ++count);
    }
  }
}

static int push_data(lua_State *L, struct request *self) {
  rtl_push_bytes(L, self->http.data.bytes, self->http.data.size, self->hidden);
  rtl_http_taken(&self->http);
  return 3;
}

static int push_head(lua_State *L, struct request *self) {
  struct rtl_span reason, rest = rtl_head_rest(&self->http.head, &reason);
  lua_pushinteger(L, self->http.status);
  lua_pushlstring(L, reason.bytes, reason.size);
  push_headers(L, rest, self->http.codings > 0);
  lua_pushinteger(L, self->http.attempts);
  return self->http.entire ? 4 + push_data(L, self) : 6;
}

static int push_failure(lua_State *L, const struct rtl_http *http) {
  lua_pushstring(L, rtl_http_error_name(http->error));
  lua_pushstring(L, http->hold.message);
  lua_pushboolean(L, http->attempts > 0);
  if (http->head_done) {
    lua_pushinteger(L, http->status);
  }
  return http->head_done ? 6 : 5;
}

/* Whoever waits for a request that another task closes is told so. */
static int push_closed(lua_State *L) {
  lua_pushboolean(L, 1);
  lua_pushliteral(L, "failed");
  lua_pushliteral(L, "closed");
  lua_pushliteral(L, "the request was closed");
  lua_pushboolean(L, 0);
  return 5;
}

/*** handle:take() → false | true, event, …
 * "head", status, reason, {{name, value}, …}, sendings[, body]: the body is there unless the
 * request is a stream. Of a stream, then "data", bytes, until "end". "want": for handle:feed().
 * "failed", name, message, sent[, status]: also of a handle that was closed. */
static int request_take(lua_State *L) {
  static const char *const names[] = {"", "head", "data", "want", "end", "failed"};
  struct request *self = luaL_checkudata(L, 1, REQUEST);
  if (self->http.token == 0) {
    return push_closed(L);
  }
  enum rtl_http_event event = rtl_http_next(&self->http);
  lua_pushboolean(L, event != RTL_HTTP_NOTHING);
  lua_pushstring(L, names[event]);
  switch (event) {
    case RTL_HTTP_NOTHING: lua_pop(L, 1); return 1;
    case RTL_HTTP_HEAD: return push_head(L, self);
    case RTL_HTTP_DATA: return push_data(L, self);
    case RTL_HTTP_FAILED: return push_failure(L, &self->http);
    default: return 2;
  }
}

/*** handle:feed(bytes)
 * The next chunk of the upload; nil ends it. */
static int request_feed(lua_State *L) {
  struct request *self = check_open(L);
  struct rtl_span chunk = {"", 0};
  if (!lua_isnoneornil(L, 2)) {
    chunk.bytes = rtl_check_bytes(L, 2, &chunk.size);
  }
  if (rtl_http_feed(&self->http, chunk) != 0) {
    return luaL_error(L, "not enough memory");
  }
  return 0;
}

static int request_close(lua_State *L) {
  struct request *self = luaL_checkudata(L, 1, REQUEST);
  rtl_http_close(&self->http);
  rtl_headers_free(&self->headers);
  return 0;
}

/* ---- byte streams ---- */

/*** http.connect(request, route) → stream | nil, "library", message
 * Starts a connection; the route is that of http.start, of the request connect_timeout and tls are
 * looked at. Connecting and reading are waited for on token(), writing on write_token(). */
static int l_connect(lua_State *L) {
  struct rtl_http_route route = {0};
  luaL_checktype(L, REQUESTED, LUA_TTABLE);
  luaL_checktype(L, ROUTE, LUA_TTABLE);
  lua_settop(L, ROUTE);
  if (missing(L) != 0) {
    return 3;
  }
  struct rtl_stream *self = lua_newuserdatauv(L, sizeof *self, 0);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, STREAM);
  opt_route(L, &route);
  if (rtl_stream_open(self, &route) != 0) {
    return luaL_error(L, "not enough memory");
  }
  lua_pushvalue(L, HANDLE);
  return 1;
}

static struct rtl_stream *check_stream(lua_State *L) {
  struct rtl_stream *self = luaL_checkudata(L, 1, STREAM);
  luaL_argcheck(L, self->read_token != 0, 1, "closed");
  return self;
}

/*** stream:token() → integer
 * What the loop posts when connecting or reading can go on. */
static int stream_token(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_stream(L)->read_token);
  return 1;
}

/*** stream:write_token() → integer
 * What the loop posts when writing can go on. */
static int stream_write_token(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_stream(L)->write_token);
  return 1;
}

/* false | true, "ready" | true, "end" | true, "failed", name, message */
static int push_state(lua_State *L, struct rtl_stream *self, enum rtl_stream_result state) {
  static const char *const names[] = {"ready", "", "end", "failed"};
  lua_pushboolean(L, state != RTL_STREAM_NOT_YET);
  lua_pushstring(L, names[state]);
  if (state != RTL_STREAM_FAILED) {
    return state == RTL_STREAM_NOT_YET ? (lua_pop(L, 1), 1) : 2;
  }
  lua_pushstring(L, rtl_http_error_name(self->error));
  lua_pushstring(L, self->hold.message);
  return 4;
}

/*** stream:connected() → false | true, "ready" | true, "failed", name, message
 * Whether the connection stands; false: not yet. */
static int stream_connected(lua_State *L) {
  struct rtl_stream *self = check_stream(L);
  return push_state(L, self, rtl_stream_connected(self));
}

/*** stream:read(max) → false | true, "ready", bytes | true, "end" | true, "failed", name, message
 * The next bytes, at most `max` of them; false: not yet. */
static int stream_read(lua_State *L) {
  struct rtl_stream *self = check_stream(L);
  lua_Integer room = luaL_optinteger(L, 2, 65536);
  luaL_argcheck(L, room > 0 && room <= 1 << 24, 2, "1 to 16 MiB expected");
  luaL_Buffer buffer;
  size_t got;
  char *out = luaL_buffinitsize(L, &buffer, (size_t)room);
  enum rtl_stream_result state = rtl_stream_read(self, out, (size_t)room, &got);
  luaL_pushresultsize(&buffer, got);
  int bytes = lua_gettop(L);
  int results = push_state(L, self, state);
  if (state == RTL_STREAM_READY) {
    lua_pushvalue(L, bytes);
    return 3;
  }
  return results;
}

/*** stream:write(bytes)
 * Takes the bytes (a copy, also of a secret); flushed() sends them. */
static int stream_write(lua_State *L) {
  struct rtl_stream *self = check_stream(L);
  struct rtl_span bytes;
  bytes.bytes = rtl_check_bytes(L, 2, &bytes.size);
  if (rtl_stream_write(self, bytes) != 0) {
    return luaL_error(L, "not enough memory");
  }
  return 0;
}

/*** stream:flushed() → false | true, "ready" | true, "failed", name, message
 * Sends what write() took; true when all of it has gone. */
static int stream_flushed(lua_State *L) {
  struct rtl_stream *self = check_stream(L);
  return push_state(L, self, rtl_stream_flush(self));
}

static int stream_close(lua_State *L) {
  rtl_stream_close(luaL_checkudata(L, 1, STREAM));
  return 0;
}

/* ---- the module ---- */

/*** http.origin(url) → scheme, host, port | nil, "library", message
 * Where a URL leads, without making a Lua string of a secret one. nil alone: not a URL. */
static int l_origin(lua_State *L) {
  struct rtl_http_origin origin;
  size_t size;
  const char *text = rtl_check_bytes(L, 1, &size);
  if (missing(L) != 0) {
    return 3;
  }
  if (strlen(text) != size || rtl_http_origin(text, &origin) != 0) {
    luaL_pushfail(L);
    return 1;
  }
  lua_pushstring(L, origin.scheme);
  lua_pushstring(L, origin.host);
  lua_pushstring(L, origin.port);
  return 3;
}

/*** http.live() → requests
 * Requests that are in libcurl's hands now (for leak checks). */
static int l_live(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)rtl_multi_shared.live);
  return 1;
}

/*** http.close_idle()
 * Closes the kept-alive connections, unless requests are in flight (for leak checks). */
static int l_close_idle(lua_State *L) {
  (void)L;
  rtl_multi_close(&rtl_multi_shared);
  return 0;
}

static void new_class(lua_State *L, const char *name, const luaL_Reg *methods) {
  luaL_newmetatable(L, name);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

int luaopen_rtl_native_http(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"token", request_token},   {"take", request_take},  {"feed", request_feed},
      {"cancel", request_close},  {"close", request_close}, {"__gc", request_close},
      {"__close", request_close}, {NULL, NULL},
  };
  static const luaL_Reg stream_methods[] = {
      {"token", stream_token},         {"write_token", stream_write_token},
      {"connected", stream_connected}, {"read", stream_read},
      {"write", stream_write},         {"flushed", stream_flushed},
      {"close", stream_close},         {"__gc", stream_close},
      {"__close", stream_close},       {NULL, NULL},
  };
  static const luaL_Reg functions[] = {
      {"start", l_start},
      {"connect", l_connect},
      {"headers", rtl_http_l_headers},
      {"by_name", rtl_http_l_by_name},
      {"origin", l_origin},
      {"live", l_live},
      {"close_idle", l_close_idle},
      {NULL, NULL},
  };
  new_class(L, REQUEST, methods);
  new_class(L, STREAM, stream_methods);
  luaL_newlib(L, functions);
  return 1;
}
