/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of numio, as settings of the workload stencil. */
#ifndef TT_SPEC_DIALECTS_NUMIO_H
#define TT_SPEC_DIALECTS_NUMIO_H

#include "spec/settings.h"

/* Words after "tutti numio": numio's own options, all checked as numio does,
 *   -m iter=I,size=N,pert=1|2   -w freq,path[,imm][,nofilesync][,pattern=a:b:c]
 *   -r freq[,path]   -c freq,size   -t threads   -l
 * become settings in *s; freq=, path= and size= may stand before these values. Everything else
 * (--dir,
 * --backend, -n ...) is left for tt_read_arguments, in its order: rest has room for argc words, and
 * *nrest says how many there are. What those set comes later and wins. */
int tt_numio_translate(int argc, char **argv, struct tt_settings *s, char **rest, int *nrest,
                       struct tt_error *e);

#endif
