/* libnfs as a contender: N reads in flight on one connection by its asynchronous interface.
 *
 * libnfs pread|raw URL FILE RECORD DEPTH RANDOM WRITE WARM_UP_MS MEASURE_MS FILE_BYTES
 * `pread` calls nfs_pread_async, as programs (fio's engine among them) do; `raw` calls the leaner
 * rpc_nfs_read_async. Prints operations, wall ns, CPU ns of the process. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

/* Declared by libnfs 4.0, defined in its private header only. */
struct nfs_fh {
	int len;
	char *val;
};

static struct nfs_context *nfs;
static struct nfsfh *file;
static struct nfs_fh3 handle;
static int raw, is_random, flying;
static uint64_t record_bytes, file_bytes, state = 0x2545F4914F6CDD1DULL;
static uint64_t from_ns, until_ns, cpu_from, operations;
static int warm, over;
static uint64_t out_operations, out_wall, out_cpu;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "libnfs: %s: %s\n", what, why);
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

static void start(void);

static void completed(void)
{
	uint64_t now = now_ns();

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
		start();
}

static void pread_done(int status, struct nfs_context *context, void *data, void *private_data)
{
	(void)data;
	(void)private_data;
	if (status != (int)record_bytes)
		fail("read", status < 0 ? nfs_get_error(context) : "short");
	completed();
}

static void raw_done(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	READ3res *result = data;

	(void)private_data;
	if (status != RPC_STATUS_SUCCESS)
		fail("read", rpc_get_error(rpc));
	if (result->status != NFS3_OK || result->READ3res_u.resok.count != record_bytes)
		fail("read", "refused or short");
	completed();
}

static void start(void)
{
	uint64_t offset = next_offset();
	int refused = raw ? rpc_nfs_read_async(nfs_get_rpc_context(nfs), raw_done, &handle, offset, record_bytes, NULL)
			  : nfs_pread_async(nfs, file, offset, record_bytes, pread_done, NULL);
	if (refused)
		fail("submit", nfs_get_error(nfs));
	flying++;
}

int main(int count, char **words)
{
	struct nfs_url *url;
	struct nfs_fh *opened;

	if (count != 11)
		fail("usage", "libnfs pread|raw URL FILE RECORD DEPTH RANDOM WRITE WARM_UP_MS MEASURE_MS FILE_BYTES");
	raw = !strcmp(words[1], "raw");
	record_bytes = strtoull(words[4], NULL, 10);
	is_random = atoi(words[6]);
	file_bytes = strtoull(words[10], NULL, 10);
	nfs = nfs_init_context();
	url = nfs ? nfs_parse_url_dir(nfs, words[2]) : NULL;
	if (!url)
		fail("URL", nfs ? nfs_get_error(nfs) : "no context");
	if (nfs_mount(nfs, url->server, url->path))
		fail("mount", nfs_get_error(nfs));
	if (nfs_open(nfs, words[3], 0, &file))
		fail("open", nfs_get_error(nfs));
	opened = nfs_get_fh(file);
	handle.data.data_len = (unsigned)opened->len;
	handle.data.data_val = opened->val;

	from_ns = now_ns() + strtoull(words[8], NULL, 10) * 1000000u;
	until_ns = from_ns + strtoull(words[9], NULL, 10) * 1000000u;
	for (int depth = atoi(words[5]); depth > 0; depth--)
		start();
	while (flying > 0) {
		struct pollfd wait = { .fd = nfs_get_fd(nfs), .events = (short)nfs_which_events(nfs) };

		if (poll(&wait, 1, -1) < 0 && errno != EINTR)
			fail("poll", strerror(errno));
		if (nfs_service(nfs, wait.revents) < 0)
			fail("service", nfs_get_error(nfs));
	}
	printf("%llu %llu %llu\n", (unsigned long long)out_operations, (unsigned long long)out_wall,
	       (unsigned long long)out_cpu);
	return 0;
}
