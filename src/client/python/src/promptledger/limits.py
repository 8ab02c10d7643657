"""The times and bounds of the client that are no options. Times are in ms, as on the wire."""

#: Without a prompt being asked for, the watch rests after this time.
REST_AFTER = 600_000

FIRST_BACK_OFF = 250
#: Of a retry that a caller waits for, of the watch, and of the queues.
LONGEST_WAIT = 5_000
LONGEST_WATCH_BACK_OFF = 15_000
MAX_BACK_OFF = 60_000
#: A service that asks to wait longer is not waited for.
LONGEST_RETRY_AFTER = 30_000
#: What was refused is not tried again for this time.
REFUSED_FOR = 60_000
#: A record that was set aside is sent again after this time.
ASIDE_FOR = 300_000

#: How long a request may take once the application is idle, so that a process can end.
IDLE_TIME = 3_000
#: The application is idle this long after its last call of the client.
ACTIVE_TIME = 4_000
#: The last second that `datetime` can tell, in Unix seconds.
LATEST_TIME = 253_402_300_799
#: The size of a response. Prompts are at most as large.
MAX_RESPONSE_BYTES = 8_388_608

#: How many prompts are cached, how many a snapshot has, and how many failures are remembered.
MAX_PROMPTS = 1_000

BATCH_SIZE = 50
FEEDBACK_BATCH_SIZE = 500
BATCH_DELAY = 1_000
#: The service takes bodies of 1 MiB unless it is configured otherwise.
MAX_BATCH_BYTES = 1_000_000
#: How many batches are sent at the same time.
MAX_SENDS = 4
#: A record, or feedback, is tried for this time. The service knows its key for two days.
OLDEST_RECORD = 86_400_000
#: How long a token for feedback may last, in days: while the service may know the record only by its key, and later.
TOKEN_DAYS = 2
LONG_TOKEN_DAYS = 30

FLUSH_TIME = 5_000

#: How many threads send requests, and how long one waits for the next request before it ends (seconds).
MAX_WORKERS = 32
WORKER_IDLE_SECONDS = 60.0
