/* A client of Slurm's own PMI-2 library: every rank puts its name and adds up what all have put. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int PMI2_Init(int *spawned, int *size, int *rank, int *appnum);
int PMI2_Finalize(void);
int PMI2_Abort(int flag, const char msg[]);
int PMI2_Job_GetId(char jobid[], int jobid_size);
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Fence(void);
int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue, int *vallen);
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found);
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found, int waitfor);

int main(int argc, char **argv) {
	int spawned, size, rank, appnum, len, found, sum = 0;
	char id[256], key[64], value[1024];
	if (PMI2_Init(&spawned, &size, &rank, &appnum) || PMI2_Job_GetId(id, sizeof id)) return 1;
	if (argc > 1 && rank == 1) return PMI2_Abort(1, argv[1]);
	for (int round = 0; round < 3; round++) {
		sprintf(key, "key-%d-%d", round, rank);
		sprintf(value, "%d; of ;;%d", rank + 1, size);
		if (PMI2_KVS_Put(key, value) || PMI2_KVS_Fence()) return 2;
		sum = 0;
		for (int r = 0; r < size; r++) {
			sprintf(key, "key-%d-%d", round, r);
			if (PMI2_KVS_Get(id, -1, key, value, sizeof value, &len)) return 3;
			sum += atoi(value);
		}
	}
	if (PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof value, &found) || !found) return 4;
	printf("%d of %d: %d\n", rank, size, sum);
	sprintf(key, "local-%s", getenv("SLURM_NODEID"));
	if (!strcmp(getenv("SLURM_LOCALID"), "0") && PMI2_Info_PutNodeAttr(key, "x")) return 5;
	if (PMI2_Info_GetNodeAttr(key, value, sizeof value, &found, 1) || !found || strcmp(value, "x")) return 6;
	return PMI2_Finalize() ? 7 : 0;
}
