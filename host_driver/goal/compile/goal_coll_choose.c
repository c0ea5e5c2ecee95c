/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of collectives and algorithms, and the rules by which GOAL_ALG_AUTO selects an algorithm.
 *
 * The rules of barrier and gather are those of the ESPGOAL paper, 5.4 and 5.5. The others are
 * described in docs/collectives.md, "Algorithms". Ranks that share a built-in switch have rules of
 * their own where a copy of a frame costs as much there as another frame.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "host_driver/goal/libgoal.h"

enum {
	MAX_RULES = 16,
};
#define ANY_BYTES UINT64_MAX
#define ANY_RANKS UINT32_MAX
#define BIT(alg)  (1u << (alg))
#define POW2      "pow2"
#define ANY       "any"

static const char *const collective_names[GOAL_COLLECTIVES] = {
    "barrier",   "bcast",          "gather",   "scatter", "reduce", "allreduce",
    "allgather", "reduce_scatter", "alltoall", "scan",    "exscan", "exchange",
};

static const char *const algorithm_names[GOAL_ALGORITHMS] = {
    "auto",
    "linear",
    "linear_sync_32k",
    "linear_sync_1k",
    "binomial",
    "chain",
    "scatter_allgather",
    "recursive_doubling",
    "recursive_halving",
    "ring",
    "rabenseifner",
    "bruck",
    "pairwise",
    "multicast",
};

static const uint32_t algorithms_of[GOAL_COLLECTIVES] = {
    [GOAL_COLL_BARRIER] = BIT(GOAL_ALG_RECURSIVE_DOUBLING) | BIT(GOAL_ALG_BRUCK),
    [GOAL_COLL_BCAST] = BIT(GOAL_ALG_BINOMIAL) | BIT(GOAL_ALG_CHAIN) |
			BIT(GOAL_ALG_SCATTER_ALLGATHER) | BIT(GOAL_ALG_MULTICAST),
    [GOAL_COLL_GATHER] = BIT(GOAL_ALG_LINEAR) | BIT(GOAL_ALG_LINEAR_SYNC_32K) |
			 BIT(GOAL_ALG_LINEAR_SYNC_1K) | BIT(GOAL_ALG_BINOMIAL),
    [GOAL_COLL_SCATTER] = BIT(GOAL_ALG_LINEAR) | BIT(GOAL_ALG_BINOMIAL),
    [GOAL_COLL_REDUCE] = BIT(GOAL_ALG_LINEAR) | BIT(GOAL_ALG_BINOMIAL),
    [GOAL_COLL_ALLREDUCE] = BIT(GOAL_ALG_RECURSIVE_DOUBLING) | BIT(GOAL_ALG_RING) |
			    BIT(GOAL_ALG_RABENSEIFNER) | BIT(GOAL_ALG_MULTICAST),
    [GOAL_COLL_ALLGATHER] =
	BIT(GOAL_ALG_RING) | BIT(GOAL_ALG_BRUCK) | BIT(GOAL_ALG_RECURSIVE_DOUBLING),
    [GOAL_COLL_REDUCE_SCATTER] =
	BIT(GOAL_ALG_RING) | BIT(GOAL_ALG_PAIRWISE) | BIT(GOAL_ALG_RECURSIVE_HALVING),
    [GOAL_COLL_ALLTOALL] = BIT(GOAL_ALG_PAIRWISE) | BIT(GOAL_ALG_BRUCK),
    [GOAL_COLL_SCAN] = BIT(GOAL_ALG_LINEAR) | BIT(GOAL_ALG_RECURSIVE_DOUBLING),
    [GOAL_COLL_EXSCAN] = BIT(GOAL_ALG_LINEAR) | BIT(GOAL_ALG_RECURSIVE_DOUBLING),
    [GOAL_COLL_EXCHANGE] = BIT(GOAL_ALG_LINEAR) | BIT(GOAL_ALG_PAIRWISE),
};

struct rule {
	bool pow2; /* applies only to powers of two */
	uint32_t max_ranks;
	uint64_t max_bytes;
	GOAL_Algorithm alg;
};

/* num 0: ESPGOAL's rule applies. The last rule of a list always applies. */
struct rules {
	uint32_t num;
	struct rule rule[MAX_RULES];
};

#define ALWAYS(alg)                                                                                \
	{                                                                                          \
		false, ANY_RANKS, ANY_BYTES, alg                                                   \
	}
static const struct rules first_rules[GOAL_COLLECTIVES] = {
    [GOAL_COLL_BCAST] = {2, {{false, 2, ANY_BYTES, GOAL_ALG_BINOMIAL}, ALWAYS(GOAL_ALG_MULTICAST)}},
    [GOAL_COLL_SCATTER] = {3,
			   {{false, 32, ANY_BYTES, GOAL_ALG_LINEAR},
			    {false, ANY_RANKS, 64, GOAL_ALG_BINOMIAL},
			    ALWAYS(GOAL_ALG_LINEAR)}},
    [GOAL_COLL_REDUCE] = {2, {{false, 8, 2048, GOAL_ALG_LINEAR}, ALWAYS(GOAL_ALG_BINOMIAL)}},
    [GOAL_COLL_ALLREDUCE] = {11,
			     {{true, 2, ANY_BYTES, GOAL_ALG_RECURSIVE_DOUBLING},
			      {true, 4, 32768, GOAL_ALG_RECURSIVE_DOUBLING},
			      {true, ANY_RANKS, 128, GOAL_ALG_RECURSIVE_DOUBLING},
			      {false, ANY_RANKS, 4096, GOAL_ALG_MULTICAST},
			      {true, ANY_RANKS, ANY_BYTES, GOAL_ALG_RABENSEIFNER},
			      {false, ANY_RANKS, 32768, GOAL_ALG_MULTICAST},
			      {false, 16, ANY_BYTES, GOAL_ALG_RING},
			      {false, ANY_RANKS, 131072, GOAL_ALG_RABENSEIFNER},
			      {false, 32, ANY_BYTES, GOAL_ALG_RING},
			      {false, ANY_RANKS, 262144, GOAL_ALG_RABENSEIFNER},
			      ALWAYS(GOAL_ALG_RING)}},
    [GOAL_COLL_ALLGATHER] = {2, {{false, ANY_RANKS, 65536, GOAL_ALG_BRUCK}, ALWAYS(GOAL_ALG_RING)}},
    [GOAL_COLL_REDUCE_SCATTER] = {2,
				  {{false, ANY_RANKS, 32768, GOAL_ALG_RECURSIVE_HALVING},
				   ALWAYS(GOAL_ALG_RING)}},
    [GOAL_COLL_ALLTOALL] = {3,
			    {{false, 8, 8192, GOAL_ALG_BRUCK},
			     {false, ANY_RANKS, 4096, GOAL_ALG_BRUCK},
			     ALWAYS(GOAL_ALG_PAIRWISE)}},
    [GOAL_COLL_SCAN] = {1, {ALWAYS(GOAL_ALG_RECURSIVE_DOUBLING)}},
    [GOAL_COLL_EXSCAN] = {1, {ALWAYS(GOAL_ALG_RECURSIVE_DOUBLING)}},
    [GOAL_COLL_EXCHANGE] = {1, {ALWAYS(GOAL_ALG_LINEAR)}},
};

/* Where all ranks share a switch. */
static const struct rules near_bcast = {3,
					{{false, 2, ANY_BYTES, GOAL_ALG_BINOMIAL},
					 {false, ANY_RANKS, 131072, GOAL_ALG_MULTICAST},
					 ALWAYS(GOAL_ALG_BINOMIAL)}};

/* For ranks that share a switch, and for others. A user's list is in both. */
struct rule_set {
	struct rules near[GOAL_COLLECTIVES], far[GOAL_COLLECTIVES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule_set rules; /* under lock */
static bool ready;            /* under lock: rules are filled */
static bool broken; /* under lock: WEFT_GOAL_COLL is invalid and no other rules were set */

/* ---- names ---------------------------------------------------------------------------------- */

const char *GOAL_CollectiveName(GOAL_Collective coll)
{
	return (unsigned int)coll < GOAL_COLLECTIVES ? collective_names[coll] : NULL;
}

const char *GOAL_AlgorithmName(GOAL_Algorithm alg)
{
	return (unsigned int)alg < GOAL_ALGORITHMS ? algorithm_names[alg] : NULL;
}

static int find(const char *const *names, int num, const char *name, size_t length)
{
	int i;

	for (i = 0; i < num; i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return i;
	return GOAL_ERR_ARG;
}

int GOAL_AlgorithmByName(const char *name)
{
	int alg = name ? find(algorithm_names, GOAL_ALGORITHMS, name, strlen(name)) : GOAL_ERR_ARG;

	return alg < 0 ? libgoal_error(alg, "no algorithm of this name") : alg;
}

int GOAL_HasAlgorithm(GOAL_Collective coll, GOAL_Algorithm alg)
{
	return (unsigned int)coll < GOAL_COLLECTIVES && (unsigned int)alg < GOAL_ALGORITHMS &&
	       (algorithms_of[coll] & BIT(alg)) != 0;
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* Parses a number at *text and advances *text past it. */
static bool read_number(const char **text, uint64_t *value)
{
	const char *at = *text;

	*value = 0;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (*value > (ANY_BYTES - 9) / 10)
			return false;
		*value = *value * 10 + (uint64_t)(*at - '0');
	}
	if (at == *text)
		return false;
	*text = at;
	return true;
}

static bool skip(const char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length))
		return false;
	*text += length;
	return true;
}

/* Parses a number, or "any". */
static bool read_bytes(const char **text, uint64_t *bytes)
{
	*bytes = ANY_BYTES;
	return skip(text, ANY) || read_number(text, bytes);
}

/* Parses "[RANKS[pow2]/]BYTES=". */
static bool read_condition(const char **text, struct rule *rule)
{
	uint64_t number;
	bool ranks = read_number(text, &number);

	rule->pow2 = skip(text, POW2);
	if (!skip(text, "/")) {
		/* The number was a size in bytes. */
		rule->max_bytes = ranks ? number : ANY_BYTES;
		return !rule->pow2 && (ranks || skip(text, ANY)) && skip(text, "=");
	}
	if (ranks && number >= ANY_RANKS)
		return false;
	if (ranks)
		rule->max_ranks = (uint32_t)number;
	return (ranks || rule->pow2) && read_bytes(text, &rule->max_bytes) && skip(text, "=");
}

static bool read_rule(const char **text, int coll, struct rule *rule)
{
	size_t length;
	int alg;

	*rule = (struct rule)ALWAYS(GOAL_ALG_AUTO);
	length = strcspn(*text, "=,;");
	if ((*text)[length] == '=' && !read_condition(text, rule))
		return false;
	length = strcspn(*text, ",;");
	alg = find(algorithm_names, GOAL_ALGORITHMS, *text, length);
	*text += length;
	rule->alg = (GOAL_Algorithm)alg;
	return alg >= 0 && GOAL_HasAlgorithm((GOAL_Collective)coll, (GOAL_Algorithm)alg);
}

/* Parses the rules of one collective, up to the end of its list. */
static bool read_list(const char **text, struct rule_set *all)
{
	size_t length = strcspn(*text, ":");
	int coll = find(collective_names, GOAL_COLLECTIVES, *text, length);
	const struct rule *last;
	struct rules list = {0};

	if (coll < 0 || (*text)[length] != ':')
		return false;
	*text += length;
	do {
		(*text)++;
		if (list.num == MAX_RULES || !read_rule(text, coll, &list.rule[list.num++]))
			return false;
	} while (**text == ',');
	last = &list.rule[list.num - 1];
	if (last->max_ranks != ANY_RANKS || last->max_bytes != ANY_BYTES || last->pow2)
		return false;
	all->near[coll] = all->far[coll] = list;
	return true;
}

static bool read_rules(const char *text, struct rule_set *all)
{
	while (*text) {
		if (!read_list(&text, all))
			return false;
		if (*text == ';')
			text++;
	}
	return true;
}

static void first_set(struct rule_set *all)
{
	memcpy(all->far, first_rules, sizeof(all->far));
	memcpy(all->near, first_rules, sizeof(all->near));
	all->near[GOAL_COLL_BCAST] = near_bcast;
}

/* Caller holds lock. */
static void fill_rules(void)
{
	const char *text = secure_getenv("WEFT_GOAL_COLL");

	if (ready)
		return;
	first_set(&rules);
	broken = text && !read_rules(text, &rules);
	if (broken)
		first_set(&rules);
	ready = true;
}

int GOAL_SetCollectiveRules(const char *text)
{
	struct rule_set all;
	bool ok = true;

	pthread_mutex_lock(&lock);
	fill_rules();
	first_set(&all);
	if (text) {
		all = rules;
		ok = read_rules(text, &all);
	}
	if (ok)
		rules = all;
	broken = broken && !ok;
	pthread_mutex_unlock(&lock);
	return ok ? GOAL_SUCCESS
		  : libgoal_error(GOAL_ERR_ARG, "rules are COLLECTIVE:[RANKS[pow2]/]BYTES="
						"ALGORITHM,...,ALGORITHM;...");
}

/* The choice of the ESPGOAL paper, 5.4 and 5.5. */
static GOAL_Algorithm papers_choice(GOAL_Collective coll, uint32_t ranks, uint64_t bytes)
{
	if (coll == GOAL_COLL_BARRIER)
		return ranks & (ranks - 1) ? GOAL_ALG_BRUCK : GOAL_ALG_RECURSIVE_DOUBLING;
	if (bytes > 92160)
		return GOAL_ALG_LINEAR_SYNC_32K;
	if (bytes > 6000)
		return GOAL_ALG_LINEAR_SYNC_1K;
	if (ranks > 60 || (ranks > 10 && bytes < 1024))
		return GOAL_ALG_BINOMIAL;
	return GOAL_ALG_LINEAR;
}

static bool holds(const struct rule *rule, uint32_t ranks, uint64_t bytes)
{
	return ranks <= rule->max_ranks && bytes <= rule->max_bytes &&
	       !(rule->pow2 && ranks & (ranks - 1));
}

GOAL_Algorithm goal_coll_choose(GOAL_Collective coll, uint32_t ranks, uint64_t bytes, bool near)
{
	GOAL_Algorithm alg = GOAL_ALG_AUTO;
	const struct rules *list = near ? &rules.near[coll] : &rules.far[coll];
	bool refuse;
	uint32_t i;

	pthread_mutex_lock(&lock);
	fill_rules();
	for (i = 0; i < list->num && alg == GOAL_ALG_AUTO; i++)
		if (holds(&list->rule[i], ranks, bytes))
			alg = list->rule[i].alg;
	refuse = broken;
	pthread_mutex_unlock(&lock);
	if (refuse)
		return GOAL_ALG_AUTO;
	return alg == GOAL_ALG_AUTO ? papers_choice(coll, ranks, bytes) : alg;
}

int GOAL_AutoAlgorithm(GOAL_Collective coll, int ranks, int64_t bytes)
{
	GOAL_Algorithm alg;

	if ((unsigned int)coll >= GOAL_COLLECTIVES || ranks < 1 || bytes < 0)
		return libgoal_error(GOAL_ERR_ARG, "invalid collective, or a negative number");
	alg = goal_coll_choose(coll, (uint32_t)ranks, (uint64_t)bytes, false);
	if (alg == GOAL_ALG_AUTO)
		return libgoal_error(
		    GOAL_ERR_ARG,
		    "WEFT_GOAL_COLL is invalid; use COLLECTIVE:[RANKS[pow2]/]BYTES=ALGORITHM,...");
	return (int)alg;
}
