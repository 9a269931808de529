/* How an operator sets a failover policy in a running group while versions are mixed, for exhaustive search by SPIN.
 *
 * Old nodes don't know the policy. They read the config when they start, and halt once they see schema 2. A new node sets the
 * policy in two commits. README.md says what is left out and why.
 *
 *   -DOLD=2             old nodes
 *   -DCOMPARES          old nodes know settings, but not the new ones: their claims compare the config that they know
 *   -DWITHOUT_<rule>    one rule is missing: a counterexample is expected
 *
 * A step is one d_step: what one process does upon one message, or etcd's commit of one transaction.
 */
#ifndef OLD
#define OLD 2
#endif

/* -DREACH: pan says which steps were taken; its own account leaves out what is inside a d_step. */
#ifdef REACH
c_decl {
  static void Reached(const char *step) {
    static const char *seen[64];
    int i = 0;
    while (i < 64 && seen[i] && seen[i] != step) i++;
    if (i < 64 && !seen[i]) { seen[i] = step; printf("reached %s\n", step); }
  }
};
#define REACHED(step) c_code { Reached(step); }
#else
#define REACHED(step) skip
#endif

/* ---- etcd -------------------------------------------------------------------------------------- */

byte config;
#define OLD_SCHEMA 0
#define NEW_SCHEMA 1 /* the old meaning, in a schema that old nodes don't know */
#define POLICY 2     /* the settings */

bit key[OLD]; /* the old node's member key is there */

/* ---- old nodes --------------------------------------------------------------------------------- */

byte life[OLD];
#define DOWN 0
#define HAS_READ 1 /* the config, of the old schema; and has a lease */
#define MEMBER 2   /* knows that its member key is there */
bit put[OLD];      /* its member key is on its way, and may land as long as its lease lives */
bit claim[OLD];    /* compares the record and the member key, and the config only with COMPARES */
bit seen_new[OLD]; /* its watch has reached the first commit */

/* ---- the operator's node ------------------------------------------------------------------------ */

byte commit;      /* on its way: what it would make of the config */
bit commit_same;  /* the config is as it was read for the commit */
byte copy;        /* of the first commit that landed; it may land again */
bit members_same; /* no member key was written since all were read */
bit all_new;      /* all that were read then are new */

/* ---- rules ------------------------------------------------------------------------------------- */

#ifdef WITHOUT_MEMBERS_COMPARE
#define MEMBERS_SAME true
#else
#define MEMBERS_SAME members_same
#endif
#ifdef WITHOUT_SECOND_MEMBERS_COMPARE
#define MEMBERS(to) (MEMBERS_SAME || (to) == POLICY)
#else
#define MEMBERS(to) MEMBERS_SAME
#endif
/* Every start that began before the first commit has come to its end: it is a member, or has seen schema 2. */
#define STARTING(i) (life[i] == HAS_READ && !seen_new[i])
#if OLD == 1
#define STARTS_OVER (!STARTING(0) && !put[0])
#else
#define STARTS_OVER (!STARTING(0) && !put[0] && !STARTING(1) && !put[1])
#endif
#ifdef WITHOUT_PAUSE
#define PAUSED true
#else
#define PAUSED STARTS_OVER
#endif
#ifdef COMPARES
#define AS_KNOWN (config == OLD_SCHEMA)
#else
#define AS_KNOWN true
#endif
#ifdef WITHOUT_FIRST_COMMIT
#define NEXT POLICY
#else
#define NEXT (config + 1)
#endif

#ifdef BREADTH_FIRST
#define SCRATCH byte
#else
#define SCRATCH hidden byte
#endif
SCRATCH i, n;

inline ends(x) { life[x] = DOWN; key[x] = 0; put[x] = 0; claim[x] = 0; seen_new[x] = 0 }

#define SELF _pid

active [OLD] proctype OldNode() {
end:
  do
  :: d_step { life[SELF] == DOWN && config == OLD_SCHEMA ->
       REACHED("old node reads the config"); n = SELF; life[n] = HAS_READ; n = 0 }
  :: d_step { life[SELF] == HAS_READ && !put[SELF] && !key[SELF] && !seen_new[SELF] ->
       REACHED("member key sent"); n = SELF; put[n] = 1; n = 0 }
  :: d_step { put[SELF] ->
       REACHED("member key lands"); n = SELF; put[n] = 0; key[n] = 1; members_same = 0; n = 0 }
  :: d_step { life[SELF] == HAS_READ && key[SELF] && !seen_new[SELF] ->
       REACHED("old node is a member"); n = SELF; life[n] = MEMBER; n = 0 }

  :: d_step { life[SELF] == MEMBER && !claim[SELF] && !seen_new[SELF] ->
       REACHED("old node claims"); n = SELF; claim[n] = 1; n = 0 }
  :: d_step { claim[SELF] && key[SELF] && AS_KNOWN ->
       REACHED("old node's claim lands");
       n = SELF;
       claim[n] = 0;
       assert(config != POLICY); /* whom no policy binds */
       n = 0 }

  /* Its watch may be late without bound. */
  :: d_step { life[SELF] != DOWN && config != OLD_SCHEMA && !seen_new[SELF] ->
       REACHED("old node sees schema 2"); n = SELF; seen_new[n] = 1; n = 0 }
  /* It halts, or dies, or its lease ends. */
  :: d_step { life[SELF] != DOWN -> REACHED("old node ends"); n = SELF; ends(n); n = 0 }
  od
}

active proctype NewNode() {
end:
  do
  /* Reads the members and the config at one revision. */
  :: d_step { commit == 0 && config != POLICY && !key[0] && !key[OLD - 1] ->
       REACHED("members read"); members_same = 1; all_new = 1 }
  :: d_step { members_same -> REACHED("new member's key written"); members_same = 0 }
  :: d_step { commit == 0 && config != POLICY && all_new && (config == OLD_SCHEMA || PAUSED) ->
       REACHED("commit sent"); commit = NEXT; commit_same = 1; all_new = 0 }
  :: d_step { commit != 0 && commit_same && MEMBERS(commit) ->
       REACHED("commit lands");
       assert(!key[0] && !key[OLD - 1]); /* nobody has to halt who leads */
       config = commit;
       copy = (copy == 0 -> commit : copy);
       commit_same = 0;
       members_same = 0 }
#ifdef WITHOUT_CONFIG_COMPARE
  :: d_step { copy != 0 ->
       assert(copy >= config); /* no commit undoes a later one */
       config = copy }
#endif
  /* Landed, or refused for ever. */
  :: d_step { commit != 0 && (!commit_same || !members_same) ->
       REACHED("commit answered"); commit = 0; commit_same = 0 }
  od
}
