// Generated from crates/portico-channel/src/layout by `make generate`. Do not edit.

export const LAYOUT_VERSION = 2;
export const FINGERPRINT = 684303657;
export const SLOT_BITS = 20;
export const SLOT_MASK = 1048575;
export const GENERATION_BITS = 11;
export const TEMPLATE_BYTES = 65536;
export const HEAD_BYTES = 8388608;
export const RECORD_BYTES = 16777216;
export const EVENT_OPEN = 1;
export const EVENT_SECURE = 2;
export const EVENT_REQUEST = 3;
export const EVENT_BODY = 4;
export const EVENT_END = 5;
export const EVENT_CLOSED = 6;
export const EVENT_FLUSHED = 7;
export const EVENT_CLIENT_ERROR = 8;
export const EVENT_TIMEOUT = 9;
export const EVENT_RAW = 10;
export const EVENT_PEER_END = 11;
export const EVENT_SERVER_NAME = 12;
export const EVENT_ALPN = 13;
export const EVENT_KEY_LOG = 14;
export const EVENT_TLS_ERROR = 15;
export const EVENT_DROPPED = 16;
export const EVENT_ACCEPT_ERROR = 17;
export const EVENT_DRAINED = 18;
export const EVENT_CREDIT = 19;
export const EVENT_RESET = 20;
export const EVENT_SESSION = 21;
export const COMMAND_RESPOND = 1;
export const COMMAND_DATA = 2;
export const COMMAND_END = 3;
export const COMMAND_INFORM = 4;
export const COMMAND_PAUSE = 5;
export const COMMAND_RESUME = 6;
export const COMMAND_DISCARD = 7;
export const COMMAND_RAW = 8;
export const COMMAND_SHUTDOWN = 9;
export const COMMAND_DESTROY = 10;
export const COMMAND_SET_TIMEOUT = 11;
export const COMMAND_SET_SOCKET = 12;
export const COMMAND_TAKE_OVER = 13;
export const COMMAND_PROCEED = 14;
export const COMMAND_SERVER_NAME = 15;
export const COMMAND_ALPN = 16;
export const COMMAND_CLOSE_IDLE = 17;
export const COMMAND_CLOSE_ALL = 18;
export const COMMAND_TEMPLATE = 19;
export const COMMAND_FEED = 20;
export const COMMAND_PART = 21;
export const COMMAND_RESET = 22;
export const COMMAND_CACHE = 23;
export const COMMAND_SESSION = 24;
export const COMMAND_PUSH = 25;
export const OPEN_FLAG_TLS = 1;
export const OPEN_FLAG_UNIX = 2;
export const SECURE_FLAG_RESUMED = 1;
export const SECURE_FLAG_CERTIFICATE_REQUESTED = 2;
export const REQUEST_FLAG_KEEP_ALIVE = 1;
export const REQUEST_FLAG_COMPLETE = 2;
export const REQUEST_FLAG_CHUNKED = 4;
export const REQUEST_FLAG_EXPECT_CONTINUE = 8;
export const REQUEST_FLAG_EXPECT_OTHER = 16;
export const REQUEST_FLAG_UPGRADE = 32;
export const REQUEST_FLAG_OVER_LIMIT = 64;
export const REQUEST_FLAG_LAST_ALLOWED = 128;
export const REQUEST_FLAG_HAS_HOST = 256;
export const SCHEME_HTTP = 0;
export const SCHEME_HTTPS = 1;
export const BODY_FLAG_LAST = 1;
export const FLUSHED_FLAG_NAMED = 1;
export const PEER_END_FLAG_UNREAD = 1;
export const TIMEOUT_KIND_INACTIVE = 0;
export const TIMEOUT_KIND_REQUEST = 1;
export const TIMEOUT_KIND_KEEP_ALIVE = 2;
export const TIMEOUT_KIND_HANDSHAKE = 3;
export const RESPONSE_FLAG_END = 1;
export const RESPONSE_FLAG_ACK = 2;
export const RESPONSE_FLAG_DATE = 4;
export const RESPONSE_FLAG_CONNECTION_CLOSE = 8;
export const RESPONSE_FLAG_CONNECTION_KEEP_ALIVE = 16;
export const RESPONSE_FLAG_KEEP_ALIVE = 32;
export const RESPONSE_FLAG_CONTENT_LENGTH = 64;
export const RESPONSE_FLAG_TRANSFER_ENCODING = 128;
export const RESPONSE_FLAG_CHUNKED = 256;
export const RESPONSE_FLAG_CLOSE = 512;
export const RESPONSE_FLAG_EXTERNAL = 1024;
export const SHUTDOWN_FLAG_CLOSE = 1;
export const DESTROY_FLAG_RESET = 1;
export const DESTROY_FLAG_UNREAD = 2;
export const DESTROY_FLAG_BAD_REQUEST = 4;
export const DESTROY_FLAG_LINGER = 8;
export const RESET_CODE_NO_ERROR = 0;
export const RESET_CODE_PROTOCOL_ERROR = 1;
export const RESET_CODE_INTERNAL_ERROR = 2;
export const RESET_CODE_REFUSED_STREAM = 7;
export const RESET_CODE_CANCEL = 8;
export const RESET_CODE_ENHANCE_YOUR_CALM = 11;
export const TAKE_OVER_FLAG_BEHIND_BODY = 1;
export const ALPN_FLAG_NONE = 1;
export const CLOSE_IDLE_FLAG_UNSENT = 1;
export const CLOSE_IDLE_FLAG_SILENT = 2;
export const CACHE_FLAG_LIFETIME = 1;
export const CACHE_FLAG_ABSENT = 2;
export const SESSION_EVENT_PEER_SETTINGS = 1;
export const SESSION_EVENT_LOCAL_SETTINGS = 2;
export const SESSION_EVENT_PING = 3;
export const SESSION_EVENT_PING_ANSWERED = 4;
export const SESSION_EVENT_GOAWAY = 5;
export const SESSION_EVENT_FAILED = 6;
export const SESSION_EVENT_PUSHED = 7;
export const SESSION_COMMAND_SETTINGS = 1;
export const SESSION_COMMAND_PING = 2;
export const SESSION_COMMAND_GOAWAY = 3;
export const SESSION_COMMAND_ALTSVC = 4;
export const SESSION_COMMAND_ORIGIN = 5;
export const SESSION_COMMAND_WINDOW = 6;
export const SESSION_COMMAND_SHUT_DOWN = 7;

/** Words that every record begins with. */
export const enum RecordHead {
  SIZE = 0,
  KIND = 1,
  KIND_MASK = 255,
  FLAGS_SHIFT = 8,
  TOKEN = 2,
}

/** Words of a range, from its first. */
export const enum RangeWords {
  OFFSET = 0,
  LENGTH = 1,
}

/** Words of a number of 64 bits, from its first. */
export const enum LongWords {
  LOW = 0,
  HIGH = 1,
}

/** The addresses of both ends of a connection. Places count from its first word. */
export const enum Endpoints {
  REMOTE_FAMILY = 0,
  REMOTE_FAMILY_SHIFT = 0,
  REMOTE_FAMILY_MASK = 65535,
  LOCAL_FAMILY = 0,
  LOCAL_FAMILY_SHIFT = 16,
  LOCAL_FAMILY_MASK = 65535,
  REMOTE_PORT = 1,
  REMOTE_PORT_SHIFT = 0,
  REMOTE_PORT_MASK = 65535,
  LOCAL_PORT = 1,
  LOCAL_PORT_SHIFT = 16,
  LOCAL_PORT_MASK = 65535,
  REMOTE_ADDRESS = 2,
  LOCAL_ADDRESS = 6,
  REMOTE_SCOPE = 10,
  WORDS = 11,
  BYTES = 44,
}

/** A certificate of the peer. Places count from its first word. */
export const enum Certificate {
  DER_OFFSET = 0,
  DER_LENGTH = 1,
  WORDS = 2,
  BYTES = 8,
}

/** A field of a head or of trailers. Places count from its first word. */
export const enum Field {
  NAME_LENGTH = 0,
  NAME_LENGTH_SHIFT = 0,
  NAME_LENGTH_MASK = 65535,
  NAME_NUMBER = 0,
  NAME_NUMBER_SHIFT = 16,
  NAME_NUMBER_MASK = 65535,
  NAME_OFFSET = 1,
  VALUE_OFFSET = 2,
  VALUE_LENGTH = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `OPEN`. */
export const enum EventOpen {
  TOKEN = 2,
  LISTENER = 3,
  ENDPOINTS = 4,
  WORDS = 15,
  BYTES = 60,
}

/** Words of `SECURE`. */
export const enum EventSecure {
  TOKEN = 2,
  VERSION = 3,
  VERSION_SHIFT = 0,
  VERSION_MASK = 65535,
  CIPHER_SUITE = 3,
  CIPHER_SUITE_SHIFT = 16,
  CIPHER_SUITE_MASK = 65535,
  VERIFY_ERROR = 4,
  SERVER_NAME_OFFSET = 5,
  SERVER_NAME_LENGTH = 6,
  ALPN_OFFSET = 7,
  ALPN_LENGTH = 8,
  CERTIFICATE_COUNT = 9,
  NAMED_GROUP = 10,
  KEYING_OFFSET = 11,
  KEYING_LENGTH = 12,
  FINISHED_BYTES = 13,
  SECRET_BYTES = 14,
  WORDS = 15,
  BYTES = 60,
}

/** Words of `REQUEST`. */
export const enum EventRequest {
  TOKEN = 2,
  SEQUENCE = 3,
  METHOD = 4,
  METHOD_SHIFT = 0,
  METHOD_MASK = 255,
  MAJOR_VERSION = 4,
  MAJOR_VERSION_SHIFT = 8,
  MAJOR_VERSION_MASK = 255,
  MINOR_VERSION = 4,
  MINOR_VERSION_SHIFT = 16,
  MINOR_VERSION_MASK = 255,
  SCHEME = 4,
  SCHEME_SHIFT = 24,
  SCHEME_MASK = 255,
  FIELD_COUNT = 5,
  TARGET_OFFSET = 6,
  TARGET_LENGTH = 7,
  AUTHORITY_OFFSET = 8,
  AUTHORITY_LENGTH = 9,
  REST_OFFSET = 10,
  REST_LENGTH = 11,
  CONTENT_LENGTH_LOW = 12,
  CONTENT_LENGTH_HIGH = 13,
  WORDS = 14,
  BYTES = 56,
}

/** Words of `BODY`. */
export const enum EventBody {
  TOKEN = 2,
  SEQUENCE = 3,
  BYTES_OFFSET = 4,
  BYTES_LENGTH = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `END`. */
export const enum EventEnd {
  TOKEN = 2,
  SEQUENCE = 3,
  FIELD_COUNT = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `CLOSED`. */
export const enum EventClosed {
  TOKEN = 2,
  ERRNO = 3,
  BYTES_READ_LOW = 4,
  BYTES_READ_HIGH = 5,
  BYTES_WRITTEN_LOW = 6,
  BYTES_WRITTEN_HIGH = 7,
  WORDS = 8,
  BYTES = 32,
}

/** Words of `FLUSHED`. */
export const enum EventFlushed {
  TOKEN = 2,
  COUNT = 3,
  QUEUED_BYTES = 4,
  SEQUENCE = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `CLIENT_ERROR`. */
export const enum EventClientError {
  TOKEN = 2,
  CODE = 3,
  PARSED_BYTES = 4,
  PACKET_OFFSET = 5,
  PACKET_LENGTH = 6,
  WORDS = 7,
  BYTES = 28,
}

/** Words of `TIMEOUT`. */
export const enum EventTimeout {
  TOKEN = 2,
  DEADLINE = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `RAW`. */
export const enum EventRaw {
  TOKEN = 2,
  SEQUENCE = 3,
  BYTES_OFFSET = 4,
  BYTES_LENGTH = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `PEER_END`. */
export const enum EventPeerEnd {
  TOKEN = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `SERVER_NAME`. */
export const enum EventServerName {
  TOKEN = 2,
  LISTENER = 3,
  NAME_OFFSET = 4,
  NAME_LENGTH = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `ALPN`. */
export const enum EventAlpn {
  TOKEN = 2,
  LISTENER = 3,
  NAME_OFFSET = 4,
  NAME_LENGTH = 5,
  PROTOCOLS_OFFSET = 6,
  PROTOCOLS_LENGTH = 7,
  WORDS = 8,
  BYTES = 32,
}

/** Words of `KEY_LOG`. */
export const enum EventKeyLog {
  TOKEN = 2,
  LISTENER = 3,
  LINE_OFFSET = 4,
  LINE_LENGTH = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `TLS_ERROR`. */
export const enum EventTlsError {
  TOKEN = 2,
  LISTENER = 3,
  TEXT_OFFSET = 4,
  TEXT_LENGTH = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `DROPPED`. */
export const enum EventDropped {
  TOKEN = 2,
  LISTENER = 3,
  ENDPOINTS = 4,
  WORDS = 15,
  BYTES = 60,
}

/** Words of `ACCEPT_ERROR`. */
export const enum EventAcceptError {
  TOKEN = 2,
  LISTENER = 3,
  ERRNO = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `DRAINED`. */
export const enum EventDrained {
  TOKEN = 2,
  LISTENER = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `CREDIT`. */
export const enum EventCredit {
  TOKEN = 2,
  SEQUENCE = 3,
  GRANTED_BYTES_LOW = 4,
  GRANTED_BYTES_HIGH = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `RESET`. */
export const enum EventReset {
  TOKEN = 2,
  SEQUENCE = 3,
  CODE = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `SESSION`. */
export const enum EventSession {
  TOKEN = 2,
  SUBJECT = 3,
  STREAM = 4,
  CODE = 5,
  BYTES_OFFSET = 6,
  BYTES_LENGTH = 7,
  WORDS = 8,
  BYTES = 32,
}

/** Words of `RESPOND`. */
export const enum CommandRespond {
  TOKEN = 2,
  SEQUENCE = 3,
  STATUS = 4,
  TEMPLATE = 5,
  REASON_BYTES = 6,
  FIELDS_BYTES = 7,
  BODY_BYTES = 8,
  CONTENT_LENGTH_LOW = 9,
  CONTENT_LENGTH_HIGH = 10,
  WORDS = 11,
  BYTES = 44,
}

/** Words of `DATA`. */
export const enum CommandData {
  TOKEN = 2,
  SEQUENCE = 3,
  BODY_BYTES = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `END`. */
export const enum CommandEnd {
  TOKEN = 2,
  SEQUENCE = 3,
  TRAILERS_BYTES = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `INFORM`. */
export const enum CommandInform {
  TOKEN = 2,
  SEQUENCE = 3,
  STATUS = 4,
  REASON_BYTES = 5,
  FIELDS_BYTES = 6,
  WORDS = 7,
  BYTES = 28,
}

/** Words of `PAUSE`. */
export const enum CommandPause {
  TOKEN = 2,
  SEQUENCE = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `RESUME`. */
export const enum CommandResume {
  TOKEN = 2,
  SEQUENCE = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `DISCARD`. */
export const enum CommandDiscard {
  TOKEN = 2,
  SEQUENCE = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `RAW`. */
export const enum CommandRaw {
  TOKEN = 2,
  SEQUENCE = 3,
  BODY_BYTES = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `SHUTDOWN`. */
export const enum CommandShutdown {
  TOKEN = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `DESTROY`. */
export const enum CommandDestroy {
  TOKEN = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `SET_TIMEOUT`. */
export const enum CommandSetTimeout {
  TOKEN = 2,
  MILLISECONDS = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `SET_SOCKET`. */
export const enum CommandSetSocket {
  TOKEN = 2,
  NO_DELAY = 3,
  KEEP_ALIVE = 4,
  KEEP_ALIVE_SECONDS = 5,
  WORDS = 6,
  BYTES = 24,
}

/** Words of `TAKE_OVER`. */
export const enum CommandTakeOver {
  TOKEN = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `PROCEED`. */
export const enum CommandProceed {
  TOKEN = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `SERVER_NAME`. */
export const enum CommandServerName {
  TOKEN = 2,
  CONTEXT = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `ALPN`. */
export const enum CommandAlpn {
  TOKEN = 2,
  PROTOCOL_BYTES = 3,
  WORDS = 4,
  BYTES = 16,
}

/** Words of `CLOSE_IDLE`. */
export const enum CommandCloseIdle {
  LISTENER = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `CLOSE_ALL`. */
export const enum CommandCloseAll {
  LISTENER = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `TEMPLATE`. */
export const enum CommandTemplate {
  NUMBER = 2,
  REASON_BYTES = 3,
  FIELDS_BYTES = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `FEED`. */
export const enum CommandFeed {
  TOKEN = 2,
  SEQUENCE = 3,
  BODY_BYTES = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `PART`. */
export const enum CommandPart {
  PIECE_BYTES = 2,
  WORDS = 3,
  BYTES = 12,
}

/** Words of `RESET`. */
export const enum CommandReset {
  TOKEN = 2,
  SEQUENCE = 3,
  CODE = 4,
  WORDS = 5,
  BYTES = 20,
}

/** Words of `CACHE`. */
export const enum CommandCache {
  TOKEN = 2,
  SEQUENCE = 3,
  TAGS_BYTES = 4,
  TARGET_BYTES = 5,
  FIELDS_BYTES = 6,
  LIFETIME_MS_LOW = 7,
  LIFETIME_MS_HIGH = 8,
  WORDS = 9,
  BYTES = 36,
}

/** Words of `SESSION`. */
export const enum CommandSession {
  TOKEN = 2,
  SUBJECT = 3,
  STREAM = 4,
  CODE = 5,
  DATA_BYTES = 6,
  WORDS = 7,
  BYTES = 28,
}

/** Words of `PUSH`. */
export const enum CommandPush {
  TOKEN = 2,
  SEQUENCE = 3,
  METHOD_BYTES = 4,
  SCHEME_BYTES = 5,
  AUTHORITY_BYTES = 6,
  PATH_BYTES = 7,
  FIELDS_BYTES = 8,
  WORDS = 9,
  BYTES = 36,
}
