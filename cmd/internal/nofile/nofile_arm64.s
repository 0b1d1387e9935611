#include "textflag.h"

// func getrlimit(resource uintptr, lim *struct{ cur, max uint64 })
TEXT ·getrlimit(SB), NOSPLIT, $0-16
	MOVD resource+0(FP), R0
	MOVD lim+8(FP), R1
	MOVD $163, R8 // SYS_getrlimit
	SVC
	RET
