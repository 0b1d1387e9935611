/* A client of PMIx's own library: what MPI programs ask of their server beside fences. Arguments: what, and a folder. */
#include <pmix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

/* make makes a file in the folder. */
static void make(const char *dir, const char *name) {
	char path[4096];
	snprintf(path, sizeof path, "%s/%s.%u", dir, name, me.rank);
	FILE *f = fopen(path, "w");
	if (f) fclose(f);
}

/* cleanup has a file removed with this rank, and a folder with the step. */
static int cleanup(const char *dir) {
	char path[4096];
	bool yes = true;
	pmix_info_t info[2];
	make(dir, "file");
	snprintf(path, sizeof path, "%s/file.%u", dir, me.rank);
	PMIX_INFO_LOAD(&info[0], PMIX_REGISTER_CLEANUP, path, PMIX_STRING);
	int rc = PMIx_Job_control(&me, 1, info, 1, NULL, NULL);
	if (rc) return rc;
	snprintf(path, sizeof path, "%s/folder", dir);
	PMIX_INFO_LOAD(&info[0], PMIX_REGISTER_CLEANUP_DIR, path, PMIX_STRING);
	PMIX_INFO_LOAD(&info[1], PMIX_CLEANUP_RECURSIVE, &yes, PMIX_BOOL);
	return PMIx_Job_control(NULL, 0, info, 2, NULL, NULL);
}

/* ondemand gets what the ranks before this one put, without any fence, and what none has put. */
static int ondemand(void) {
	pmix_proc_t other = me;
	pmix_value_t value, *got;
	char key[32];
	snprintf(key, sizeof key, "key.%u", me.rank);
	PMIX_VALUE_LOAD(&value, &me.rank, PMIX_UINT32);
	int rc = PMIx_Put(PMIX_GLOBAL, key, &value);
	if (!rc) rc = PMIx_Commit();
	for (other.rank = 0; other.rank < me.rank && !rc; other.rank++) {
		snprintf(key, sizeof key, "key.%u", other.rank);
		if (!(rc = PMIx_Get(&other, key, NULL, 0, &got)) && got->data.uint32 != other.rank) rc = 1;
	}
	if (!rc && me.rank == 3) {
		other.rank = 0;
		rc = PMIx_Get(&other, "none", NULL, 0, &got) == PMIX_ERR_NOT_FOUND ? 0 : 2;
	}
	return rc;
}

int main(int argc, char **argv) {
	int rc = PMIx_Init(&me, NULL, 0);
	if (rc || argc < 3) return 1;
	if (!strcmp(argv[1], "ondemand")) {
		rc = ondemand();
		if (!rc) rc = PMIx_Fence(NULL, 0, NULL, 0); /* nobody goes while others may ask */
	} else {
		rc = cleanup(argv[2]);
		if (!rc) rc = PMIx_Fence(NULL, 0, NULL, 0);
	}
	printf("%u: %d\n", me.rank, rc);
	fflush(stdout);
	if (!strcmp(argv[1], "wait")) {
		make(argv[2], "ready");
		for (;;) pause();
	}
	if (!strcmp(argv[1], "die")) return 3;
	return PMIx_Finalize(NULL, 0) ? 2 : 0;
}
