/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the climate workload: its options, which rank has which elements (maps.c), what is
 * in a file (variables.c), the values (content.c), and what a rank does (run.c). */
#ifndef TT_WORKLOADS_CLIMATE_H
#define TT_WORKLOADS_CLIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/model.h"
#include "spec/param.h"

struct tt_engine;

enum tt_climate_case { TT_CLIMATE_F, TT_CLIMATE_G, TT_CLIMATE_I };
enum tt_climate_files { TT_CLIMATE_BOTH, TT_CLIMATE_H0, TT_CLIMATE_H1 };
enum tt_climate_layout { TT_CLIMATE_CANONICAL, TT_CLIMATE_BLOB };
enum tt_climate_phase { TT_CLIMATE_WRITE, TT_CLIMATE_READ, TT_CLIMATE_WRITE_READ };

struct tt_climate_options {
    int which, files, layout, type, memory, phase;
    uint64_t columns, levels, cells, edges, vertices, latitudes, longitudes, land;
    uint64_t records, flush;
    bool sorted, fill, verify;
    struct tt_passes compute; /* between two records */
    double pause;
    char *path, *map;
};

/* ---- maps.c ---- */
#define TT_CLIMATE_MAPS 6

/* What is the same for all ranks: the land of the I case, or the file that has the maps. */
struct tt_climate_mesh {
    const struct tt_climate_options *options;
    struct tt_climate_map_file *file; /* NULL: maps are made up */
    struct tt_climate_options sizes;  /* with a file: the options with its sizes */
    uint64_t levels, ranks;
    uint64_t land;            /* cells */
    size_t nstretches;        /* of land within a row, in row-major order */
    struct tt_run *stretches; /* NULL: not the I case */
    uint64_t *before;         /* land cells before each of them */
    uint64_t memory;          /* bytes that making it takes */
};
/* TT_USAGE if bytes of a file, or of its pieces, might not be countable. */
int tt_climate_check_size(const struct tt_climate_options *o, struct tt_error *e);
/* m stays where it is. */
int tt_climate_mesh_make(struct tt_climate_mesh *m, const struct tt_climate_options *o,
                         uint64_t ranks, struct tt_error *e);
void tt_climate_mesh_free(struct tt_climate_mesh *m);

/* How many maps the case has, and the array that one of them spreads over the ranks: returns its
 * number of dimensions. */
int tt_climate_nmaps(const struct tt_climate_options *o);
int tt_climate_map_dims(const struct tt_climate_mesh *m, int map, uint64_t dims[3]);

/* The requests of one rank: contiguous pieces of the array, in the order in which the model asks
 * for them, or sorted. Neighbours in the array stay requests of their own. */
struct tt_climate_map {
    size_t nruns, capacity;
    struct tt_run *runs;
    uint64_t elements;
    /* Of a file's requests, also those that only fill holes: elements, and where requests end. */
    uint64_t listed, ends;
};
/* A function of the mesh and the rank alone, without MPI. */
int tt_climate_map_make(struct tt_climate_map *out, const struct tt_climate_mesh *m, int map,
                        uint64_t rank, struct tt_error *e);
void tt_climate_map_free(struct tt_climate_map *m);
int tt_climate_map_add(struct tt_climate_map *m, uint64_t start, uint64_t length,
                       struct tt_error *e);

/* ---- map_file.c: maps of a real run ---- */
/* Part of making a mesh, which its end closes also after a failure. */
int tt_climate_map_file_open(struct tt_climate_mesh *m, const struct tt_climate_options *o,
                             struct tt_error *e);
void tt_climate_map_file_close(struct tt_climate_map_file *f);
/* What the processes of the file had that fall to a rank: it has those that follow each other. */
int tt_climate_map_file_list(const struct tt_climate_mesh *m, int map, uint64_t rank,
                             struct tt_climate_map *out, struct tt_error *e);
/* Whether the requests of a map tile its array: elements, listed and ends, added up over all ranks.
 * looks: where these sums do not tell, this rank reads all requests; one of them is enough. */
int tt_climate_map_file_check(const struct tt_climate_mesh *m, int map, const uint64_t sums[3],
                              bool looks, struct tt_error *e);

/* ---- variables.c ---- */
#define TT_CLIMATE_NAME 32
#define TT_CLIMATE_ALONE (-1) /* in place of a map: rank 0 has all of it */

struct tt_climate_variable {
    char name[TT_CLIMATE_NAME];
    int map;
    bool per_record;
    const struct tt_element *element;
    uint64_t length; /* without a map */
};
/* Those of a history file (0 or 1; G has one): fixed ones first, then what every record has.
 * Returns their number; with list NULL they are only counted. */
unsigned tt_climate_variables(const struct tt_climate_mesh *m, int file,
                              struct tt_climate_variable *list);
/* Files of this run, in the order in which they are written: the one with `records` records first.
 * Returns their number. */
unsigned tt_climate_files(const struct tt_climate_options *o, int files[2]);
uint64_t tt_climate_records(const struct tt_climate_options *o, int file);

/* ---- content.c ---- */
/* A value is a function of seed, variable, record and place, so that whoever reads it can tell
 * whether it is right. Only every 1024th element changes from record to record: to make the next
 * record costs next to nothing, and still none is taken for another. */
struct tt_climate_content {
    uint64_t key; /* of seed and variable */
    const struct tt_element *element;
    size_t nruns;
    const struct tt_run *runs; /* of one record */
    uint64_t spacing;          /* elements from one to the next in memory: 1 or 2 */
    double loss;               /* how far a value that was read may be from it */
};
/* One record at data; changes: only the elements that change with the record. */
void tt_climate_fill(const struct tt_climate_content *c, uint64_t record, bool changes, void *data);
/* False: *wrong is the first element of the array that is not right. */
bool tt_climate_matches(const struct tt_climate_content *c, uint64_t record, const void *data,
                        uint64_t *wrong);

/* ---- run.c ---- */
/* Rows of the table "climate" in a result, in seconds, with the least and the most of all ranks. */
enum tt_climate_time {
    TT_CLIMATE_OPEN,
    TT_CLIMATE_DEFINE,
    TT_CLIMATE_POST,
    TT_CLIMATE_FLUSH,
    TT_CLIMATE_LOAD,
    TT_CLIMATE_CLOSE,
    TT_CLIMATE_END_TO_END,
    TT_CLIMATE_NTIMES
};
int tt_climate_run(struct tt_engine *engine, struct tt_error *e);

#endif
