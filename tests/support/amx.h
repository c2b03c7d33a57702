/* amx: Intel's tile instructions on a CPU that has none. */
#ifndef AMX_H
#define AMX_H

/* From here on LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDPBF16PS and TDPB[SU][SU]D of this process do what Intel's SDM
 * (volume 2) says, whatever thread they are of, one fault each: slow, and exact. Where the CPU has them itself it does them. Returns
 * whether that could be had: on Linux on x86-64.                                                                          */
int amx_emulate(void);

#endif
