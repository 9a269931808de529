/* Placement rules that change while claims and transfers are on their way, for exhaustive search by SPIN.
 *
 * One shard, two nodes. The rules stand in the config. PLACEMENT.md says what is left out and why.
 *
 *   -DWITHOUT_<rule>    one rule is missing: a counterexample is expected
 *
 * A step is one d_step: what one process does upon one message, or etcd's commit of one transaction.
 */

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

bit forbids;     /* the config's rules want a label */
bit lacks[2];    /* the node, in its present session, does not have the label */
byte leader;     /* 0, 1, or NOBODY: its session is gone */
#define NOBODY 2

/* ---- what nodes know: the config as of some revision, maybe long ago ----------------------------- */

bit known_forbids[2];
bit known_same[2]; /* that revision is still the config's */

/* ---- writes on their way, one of each node; each guard holds or not ------------------------------- */

bit out[2];
byte to[2];          /* who would lead */
bit record_same[2];
bit config_same[2];
bit session_same[2]; /* the target has the session that the write names */

/* ---- rules ------------------------------------------------------------------------------------- */

/* Claims and transfers compare the config's mod revision. */
#ifdef WITHOUT_CONFIG_COMPARE
#define CONFIG_SAME(n) true
#else
#define CONFIG_SAME(n) config_same[n]
#endif
#ifdef WITHOUT_SESSION_COMPARE
#define SESSION_SAME(n) true
#else
#define SESSION_SAME(n) session_same[n]
#endif
/* Whoever gives the shard away looks at the rules itself, in the revision that the write compares. */
#ifdef WITHOUT_OWN_LOOK
#define LOOKS_ALLOWED(n, x) true
#else
#define LOOKS_ALLOWED(n, x) (!(known_forbids[n] && lacks[x]))
#endif

#ifdef BREADTH_FIRST
#define SCRATCH byte
#else
#define SCRATCH hidden byte
#endif
SCRATCH n, x;

inline written() { /* the config is */
  known_same[0] = 0; known_same[1] = 0; config_same[0] = 0; config_same[1] = 0
}
inline led(who) { leader = who; record_same[0] = 0; record_same[1] = 0 }

active proctype Operator() {
end:
  do
  :: d_step { !forbids -> REACHED("rules that want a label"); written(); forbids = 1 }
  :: d_step { forbids ->
       REACHED("no rules");
       written();
       forbids = 0 }
  /* Rules that order the same, or other ones. */
  :: d_step { REACHED("config written"); written() }
  od
}

active [2] proctype Node() {
end:
  do
  :: d_step { !known_same[_pid - 1] ->
       REACHED("config seen"); n = _pid - 1; known_same[n] = 1; known_forbids[n] = forbids; n = 0 }

  /* A new session, maybe with other labels. Nobody leads what the old one led. */
  :: d_step { REACHED("new session");
       n = _pid - 1;
       if :: leader == n -> leader = NOBODY :: else fi;
       if :: to[0] == n -> session_same[0] = 0 :: else fi;
       if :: to[1] == n -> session_same[1] = 0 :: else fi;
       n = 0 }
  :: d_step { REACHED("new session, other labels");
       n = _pid - 1;
       if :: leader == n -> leader = NOBODY :: else fi;
       if :: to[0] == n -> session_same[0] = 0 :: else fi;
       if :: to[1] == n -> session_same[1] = 0 :: else fi;
       lacks[n] = !lacks[n];
       n = 0 }
#ifdef WITHOUT_FIXED_LABELS
  :: d_step { n = _pid - 1; lacks[n] = !lacks[n]; n = 0 }
#endif

  /* Claims the vacancy. */
  :: d_step { !out[_pid - 1] && leader == NOBODY && !(known_forbids[_pid - 1] && lacks[_pid - 1]) ->
       REACHED("claim sent");
       n = _pid - 1;
       out[n] = 1; to[n] = n; record_same[n] = 1; session_same[n] = 1;
       config_same[n] = known_same[n];
       n = 0 }
  /* Gives the shard to the other one, as a planned move says; the balancer's view may be any. */
  :: d_step { !out[_pid - 1] && leader == _pid - 1 && LOOKS_ALLOWED(_pid - 1, 2 - _pid) ->
       REACHED("transfer sent");
       n = _pid - 1; x = 1 - n;
       out[n] = 1; to[n] = x; record_same[n] = 1; session_same[n] = 1;
       config_same[n] = known_same[n];
       n = 0; x = 0 }

  :: d_step { out[_pid - 1] && record_same[_pid - 1] && CONFIG_SAME(_pid - 1) && SESSION_SAME(_pid - 1) ->
       REACHED("write lands");
       n = _pid - 1;
       assert(!(forbids && lacks[to[n]])); /* no leadership begins where the rules forbid it */
       out[n] = 0;
       led(to[n]);
       n = 0 }
  :: d_step { out[_pid - 1] &&
              !(record_same[_pid - 1] && CONFIG_SAME(_pid - 1) && SESSION_SAME(_pid - 1)) ->
       REACHED("write refused"); n = _pid - 1; out[n] = 0; n = 0 }
  /* A handoff is given up: the same leader, a new term, whatever the rules say. */
  :: d_step { leader == _pid - 1 -> REACHED("abandon"); led(leader) }
  od
}
