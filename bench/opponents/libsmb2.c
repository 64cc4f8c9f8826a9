/* libsmb2 as a contender: N reads or writes in flight on one connection by its asynchronous interface.
 *
 * libsmb2 plain|signed|sealed PORT USER PASSWORD FILE RECORD DEPTH RANDOM WRITE WARM_UP_MS MEASURE_MS FILE_BYTES
 * Prints operations, wall ns, CPU ns of the process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <smb2/smb2.h>
#include <smb2/libsmb2.h>

static struct smb2_context *smb2;
static struct smb2fh *file;
static int is_random, is_write, flying;
static uint64_t record_bytes, file_bytes, state = 0x2545F4914F6CDD1DULL;
static uint64_t from_ns, until_ns, cpu_from, operations;
static int warm, over;
static uint64_t out_operations, out_wall, out_cpu;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "libsmb2: %s: %s\n", what, why);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static uint64_t next_offset(void)
{
	if (is_random) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
	} else {
		state++;
	}
	return state % (file_bytes / record_bytes) * record_bytes;
}

static void start(uint8_t *buffer);

static void done(struct smb2_context *context, int status, void *data, void *buffer)
{
	uint64_t now = now_ns();

	(void)data;
	if (status != (int)record_bytes)
		fail("transfer", status < 0 ? smb2_get_error(context) : "short");
	flying--;
	operations++;
	if (!warm && now >= from_ns) {
		warm = 1;
		until_ns = now + (until_ns - from_ns);
		from_ns = now;
		cpu_from = cpu_ns();
		operations = 0;
	}
	if (!over && now >= until_ns) {
		over = 1;
		out_operations = operations;
		out_wall = now - from_ns;
		out_cpu = cpu_ns() - cpu_from;
	}
	if (!over)
		start(buffer);
}

static void start(uint8_t *buffer)
{
	uint64_t offset = next_offset();
	int refused = is_write ? smb2_pwrite_async(smb2, file, buffer, (uint32_t)record_bytes, offset, done, buffer)
			       : smb2_pread_async(smb2, file, buffer, (uint32_t)record_bytes, offset, done, buffer);
	if (refused)
		fail("submit", smb2_get_error(smb2));
	flying++;
}

int main(int count, char **words)
{
	char server[64];

	if (count != 13)
		fail("usage", "see the source");
	record_bytes = strtoull(words[6], NULL, 10);
	is_random = atoi(words[8]);
	is_write = atoi(words[9]);
	file_bytes = strtoull(words[12], NULL, 10);
	smb2 = smb2_init_context();
	if (!smb2)
		fail("start", "no context");
	smb2_set_authentication(smb2, 1); /* NTLMSSP, a name of its private header */
	smb2_set_user(smb2, words[3]);
	smb2_set_password(smb2, words[4]);
	smb2_set_security_mode(smb2, SMB2_NEGOTIATE_SIGNING_ENABLED);
	if (!strcmp(words[1], "signed"))
		smb2_set_sign(smb2, 1);
	if (!strcmp(words[1], "sealed"))
		smb2_set_seal(smb2, 1);
	snprintf(server, sizeof server, "127.0.0.1:%s", words[2]);
	if (smb2_connect_share(smb2, server, "share", words[3]))
		fail("connect", smb2_get_error(smb2));
	file = smb2_open(smb2, words[5], is_write ? O_RDWR : O_RDONLY);
	if (!file)
		fail("open", smb2_get_error(smb2));

	from_ns = now_ns() + strtoull(words[10], NULL, 10) * 1000000u;
	until_ns = from_ns + strtoull(words[11], NULL, 10) * 1000000u;
	for (int depth = atoi(words[7]); depth > 0; depth--) {
		uint8_t *buffer = calloc(1, record_bytes);
		if (!buffer)
			fail("start", "no memory");
		start(buffer);
	}
	while (flying > 0) {
		struct pollfd wait = { .fd = smb2_get_fd(smb2), .events = (short)smb2_which_events(smb2) };

		if (poll(&wait, 1, -1) < 0 && errno != EINTR)
			fail("poll", strerror(errno));
		if (smb2_service(smb2, wait.revents) < 0)
			fail("service", smb2_get_error(smb2));
	}
	printf("%llu %llu %llu\n", (unsigned long long)out_operations, (unsigned long long)out_wall,
	       (unsigned long long)out_cpu);
	return 0;
}
