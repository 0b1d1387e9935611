#include "textflag.h"

// func getrlimit(resource uintptr, lim *struct{ cur, max uint64 })
TEXT ·getrlimit(SB), NOSPLIT, $0-16
	MOVQ resource+0(FP), DI
	MOVQ lim+8(FP), SI
	MOVQ $97, AX // SYS_getrlimit
	SYSCALL
	RET
