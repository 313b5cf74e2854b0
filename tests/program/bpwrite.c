/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A writer of BP files, by ADIOS2's own library and nothing of tutti's:
 *   bpwrite DIR VARIABLE ROWS COLUMNS FILE
 * makes one variable of f64, with the values of FILE, as a dump of tutti that a sync has cut into
 * two steps of ADIOS2: all rows, and then the first half of them twice. */
#include <adios2_c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int failed, const char *what)
{
    if (failed) {
        fprintf(stderr, "bpwrite: %s\n", what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    adios2_adios *adios = adios2_init_serial();
    adios2_io *io = adios2_declare_io(adios, "io");
    size_t shape[2] = {argc > 4 ? strtoul(argv[3], NULL, 10) : 0,
                       argc > 4 ? strtoul(argv[4], NULL, 10) : 0};
    size_t half[2] = {shape[0] / 2, shape[1]}, zeros[2] = {0, 0}, n = shape[0] * shape[1];
    double *data = calloc(n + 1, sizeof *data);
    adios2_variable *step, *v;
    adios2_engine *engine;
    uint64_t number = 0;
    FILE *in;

    check(argc != 6 || n == 0, "usage: bpwrite DIR VARIABLE ROWS COLUMNS FILE");
    in = fopen(argv[5], "rb");
    check(!in || fread(data, sizeof *data, n, in) != n, "the values cannot be read");
    fclose(in);
    step = adios2_define_variable(io, "/step", adios2_type_uint64_t, 0, NULL, NULL, NULL,
                                  adios2_constant_dims_true);
    v = adios2_define_variable(io, argv[2], adios2_type_double, 2, shape, zeros, shape,
                               adios2_constant_dims_false);
    check(!step || !v || adios2_set_engine(io, "BP5"), "the variables cannot be made");
    engine = adios2_open(io, argv[1], adios2_mode_write);
    check(!engine, "it cannot be opened");
    for (int part = 0; part < 2; part++) {
        adios2_step_status status;

        check(adios2_begin_step(engine, adios2_step_mode_append, -1, &status), "no step begins");
        check(adios2_put(engine, step, &number, adios2_mode_sync), "the step cannot be put");
        for (int again = 0; again <= part; again++)
            check(adios2_set_selection(v, 2, zeros, part ? half : shape) ||
                      adios2_put(engine, v, data, adios2_mode_sync),
                  "a block cannot be put");
        check(adios2_end_step(engine), "a step cannot be ended");
    }
    free(data);
    return adios2_close(engine) || adios2_finalize(adios);
}
