/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An independent reader of BP files, by ADIOS2's own library and nothing of tutti's: Debian has no
 * bpls.
 *   bpread DIR                      every variable with type, steps and shape, then every attribute
 *   bpread DIR VARIABLE STEP FILE   what the variable holds in that step of its own, as raw bytes
 */
#include <adios2_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
    fprintf(stderr, "bpread: %s\n", what);
    exit(1);
}

static const char *const types[] = {"string", "f32", "f64", "c32", "c64", "i8",  "i16",
                                    "i32",    "i64", "u8",  "u16", "u32", "u64", "long double"};
static const size_t sizes[] = {0, 4, 8, 8, 16, 1, 2, 4, 8, 1, 2, 4, 8, 16};

static void list_variable(const char *name, const adios2_variable *v)
{
    size_t ndims = 0, steps = 0, shape[16];
    adios2_type type;

    if (adios2_variable_type(&type, v) || adios2_variable_ndims(&ndims, v) ||
        adios2_variable_steps(&steps, v) || (ndims && adios2_variable_shape(shape, v)))
        die("a variable cannot be looked at");
    printf("%s %s %zu*{", name, types[type], steps);
    for (size_t i = 0; i < ndims; i++)
        printf("%s%zu", i ? "," : "", shape[i]);
    printf("}\n");
}

static void list_attribute(const char *name, const adios2_attribute *a)
{
    static char value[1 << 16];
    adios2_type type;
    adios2_bool single;
    size_t n = 0;

    if (adios2_attribute_type(&type, a) || adios2_attribute_is_value(&single, a) ||
        adios2_attribute_size(&n, a))
        die("an attribute cannot be looked at");
    printf("attribute %s %s", name, types[type]);
    if (!single || n > 1) {
        printf(" [%zu]\n", n);
        return;
    }
    memset(value, 0, sizeof value);
    if (adios2_attribute_data(value, &n, a))
        die("an attribute cannot be read");
    if (type == adios2_type_string)
        printf(" %s\n", value);
    else if (type == adios2_type_double)
        printf(" %g\n", *(double *)value);
    else
        printf(" %lld\n",
               sizes[type] == 4 ? (long long)*(int *)value : (long long)*(long long *)value);
}

static void list(adios2_io *io)
{
    size_t n = 0;
    char **names = adios2_available_variables(io, &n);

    for (size_t i = 0; i < n; i++)
        list_variable(names[i], adios2_inquire_variable(io, names[i]));
    names = adios2_available_attributes(io, &n);
    for (size_t i = 0; i < n; i++)
        list_attribute(names[i], adios2_inquire_attribute(io, names[i]));
}

static void dump(adios2_io *io, adios2_engine *engine, const char *name, size_t step,
                 const char *path)
{
    adios2_variable *v = adios2_inquire_variable(io, name);
    size_t ndims = 0, shape[16], zeros[16] = {0}, bytes;
    adios2_type type;
    FILE *out = fopen(path, "wb");
    char *data;

    if (!v || !out || adios2_variable_type(&type, v) || adios2_variable_ndims(&ndims, v) ||
        (ndims && adios2_variable_shape(shape, v)))
        die("no such variable, or the file cannot be made");
    bytes = sizes[type];
    for (size_t i = 0; i < ndims; i++)
        bytes *= shape[i];
    data = calloc(1, bytes ? bytes : 1);
    if (!data || adios2_set_step_selection(v, step, 1) ||
        (ndims && adios2_set_selection(v, ndims, zeros, shape)) ||
        adios2_get(engine, v, data, adios2_mode_sync))
        die("it cannot be read");
    if (fwrite(data, 1, bytes, out) != bytes || fclose(out))
        die("the file cannot be written");
    free(data);
}

int main(int argc, char **argv)
{
    adios2_adios *adios = adios2_init_serial();
    adios2_io *io = adios2_declare_io(adios, "io");
    adios2_engine *engine;

    if ((argc != 2 && argc != 5) || adios2_set_engine(io, "BP5"))
        die("usage: bpread DIR [VARIABLE STEP FILE]");
    engine = adios2_open(io, argv[1], adios2_mode_readRandomAccess);
    if (!engine)
        die("it cannot be opened");
    if (argc == 2)
        list(io);
    else
        dump(io, engine, argv[2], strtoul(argv[3], NULL, 10), argv[4]);
    return adios2_close(engine) || adios2_finalize(adios);
}
