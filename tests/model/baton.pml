/* The protocol between nodes and etcd, for exhaustive search by SPIN.
 *
 * etcd is one atomic store: member keys, shards' records, moves. Nodes send guarded writes that land
 * late, twice or never, and whose replies get lost. Time passes for each node and its lease alone.
 * README.md says what is left out and why that is sound, and what each guard's removal leads to.
 *
 *   -DN=3 -DS=1         processes and shards
 *   -DTWINS             processes 0 and 1 are two processes of one node
 *   -DLIVENESS          there is a moment from which on nothing fails; then everything gets led
 *   -DLATE_KEYS         a write of a member key may land late, or twice
 *   -DFENCE             the shards' resources refuse older terms than they have seen
 *   -DFOLDED            states that no continuation tells apart count as one
 *   -DWITHOUT_<guard>   one guard is missing: a counterexample is expected
 *   -DONLY_EXCLUSION    of the properties, only that at most one leads, growing terms and the fence
 *
 * A step is one d_step: what one process does upon one message, or etcd's commit of one transaction.
 * Numbers are kept small without a bound on how often anything happens: a session's number is given
 * again once nothing names the old one, and terms are renumbered in their order after each commit.
 */
#ifndef N
#define N 3
#endif
#ifndef S
#define S 1
#endif
#ifndef T
#define T 4 /* session numbers of each process: enough, or an assertion fails */
#endif

#define NOBODY 0
#define GONE 255 /* a session that nothing can bring back: its number is free again */

#ifdef TWINS
#define NODE(p) ((p) < 2 -> 0 : (p))
#else
#define NODE(p) (p)
#endif
#define OWNER(k) (((k) - 1) / T)
#define AT(p, s) ((p) * S + (s))

#ifdef ONLY_EXCLUSION
#define ALSO(property) skip
#else
#define ALSO(property) assert(property)
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

byte key[N];       /* by node: the session whose lease the member key hangs on; 0: no key */
byte created[N];   /* by node: the key's create revision, which outlives a takeover */
byte record[S];    /* the session that the record names, NOBODY or GONE */
byte term[S];      /* the record's mod revision; 0: never written */
byte prepared[S];  /* the session that prepared for the shard's move; 0: no move that counts */

/* A session's first key has create revision 2k, one that a late copy of the write put has 2k + 1. */
#define FIRST(k) (2 * (k))
#define LATE(k) (2 * (k) + 1)

#define KEY(k) key[NODE(OWNER(k))]
#define CREATED(k) created[NODE(OWNER(k))]
#define LIVES(k) ((k) != NOBODY && (k) != GONE && KEY(k) == (k))

/* ---- processes --------------------------------------------------------------------------------- */

byte session[N];    /* 0: none */
byte own_create[N]; /* the create revision that the answer told */
byte deadline[N];   /* see below */
bit lease[N];       /* etcd's side: the session's lease has time left */

#define PASSED 0
#define AHEAD 1
#define EXCUSED 2 /* etcd killed the lease early: this process may not know before its deadline */

byte held[N * S];  /* by process and shard: the term that this process holds; 0: none */
byte phase[N * S];

#define NONE 0
#define LEADING 1
#define UNSEEN 2 /* the record names this session, and the news is on its way */
#define GIVING 3
#define RESIGNING 4
#define ABANDONING 5
#define ABANDONED 6 /* the answer to its abandon is on its way: done */

/* ---- on their way ------------------------------------------------------------------------------ */

/* A claim: one a shard. More add nothing: a living process may as well send its claim later. */
byte claim_by[S];      /* the session that claims; 0: none on its way */
byte claim_created[S]; /* its member key's create revision */
byte claim_read[S];    /* the record's mod revision as read */
byte claim_over[S];    /* the session that the record named */
bit claim_dropped[S];  /* its process was told that the session is lost, and counts it as refused */

/* A transfer or resignation: one a shard, since only who holds the record's term has use for one. */
byte give[S];
byte give_term[S];
byte give_to[S];       /* the target's session, of a transfer */
bit give_move_same[S]; /* the move still has the mod revision that was read */

#define TRANSFER 1
#define RESIGN 2

/* A deletion of the move, by who holds the record's term; 0: none. */
byte abandon_term[S];

/* A member key's creation or takeover that is late: a copy of one that has landed, or a process's that
   died or gave up meanwhile. */
#ifdef LATE_KEYS
byte late_key;
byte late_replaces; /* the dead session that a takeover read; 0: a creation */
#else
#define late_key 0
#define late_replaces 0
#endif

#ifdef FENCE
byte fence[S]; /* the newest term that the shard's resource has accepted */
#define FENCED(s) fence[s]
#else
#define FENCED(s) 0
#endif

#ifdef LIVENESS
bool calm = false; /* from now on nothing fails, and nobody gives a shard away unasked */
byte down;         /* 1 + the process that is dead then, and stays so */
#define FAULTS (!calm)
#else
#define down 0
#define FAULTS true
#endif

/* ---- guards ------------------------------------------------------------------------------------ */

#ifdef WITHOUT_CLAIM_RECORD
#define CLAIM_RECORD(s) true
#else
#define CLAIM_RECORD(s) (claim_read[s] == term[s])
#endif
#ifdef WITHOUT_CLAIM_DEAD
#define CLAIM_DEAD(s) true
#else
#define CLAIM_DEAD(s) (!LIVES(claim_over[s]))
#endif
#ifdef WITHOUT_CLAIM_LEASE
#define CLAIM_LEASE(s) true
#else
#define CLAIM_LEASE(s) (KEY(claim_by[s]) == claim_by[s])
#endif
#ifdef WITHOUT_CLAIM_CREATE
#define CLAIM_CREATE(s) true
#else
#define CLAIM_CREATE(s) (CREATED(claim_by[s]) == claim_created[s])
#endif

#ifdef WITHOUT_TRANSFER_RECORD
#define TRANSFER_RECORD(s) true
#else
#define TRANSFER_RECORD(s) (give_term[s] == term[s])
#endif
#ifdef WITHOUT_TRANSFER_MOVE
#define TRANSFER_MOVE(s) true
#else
#define TRANSFER_MOVE(s) give_move_same[s]
#endif
#ifdef WITHOUT_TRANSFER_TARGET
#define TRANSFER_TARGET(s) true
#else
#define TRANSFER_TARGET(s) (KEY(give_to[s]) == give_to[s])
#endif

#ifdef WITHOUT_ABANDON_RECORD
#define ABANDON_RECORD(s) true
#else
#define ABANDON_RECORD(s) (abandon_term[s] == term[s])
#endif

#ifdef WITHOUT_RESIGN_RECORD
#define RESIGN_RECORD(s) true
#else
#define RESIGN_RECORD(s) (give_term[s] == term[s])
#endif

#ifdef WITHOUT_CREATE_ABSENCE
#define MAY_CREATE(n) true
#else
#define MAY_CREATE(n) (key[n] == 0)
#endif
#ifdef WITHOUT_TAKEOVER_REVISION
#define MAY_REPLACE(n, dead) true
#else
#define MAY_REPLACE(n, dead) (key[n] == dead)
#endif

#ifdef WITHOUT_PROOF
#define PROVEN_DEAD(k) true
#else
#define PROVEN_DEAD(k) (session[OWNER(k)] != (k))
#endif

#if defined(WITHOUT_CONFIRMATION) || defined(WITHOUT_CONFIRM_COMPARE)
#define CONFIRMS(p) true
#else
#ifdef WITHOUT_CONFIRM_CREATE
#define CONFIRMS(p) (key[NODE(p)] == session[p])
#else
#define CONFIRMS(p) HAS_KEY(p)
#endif
#endif

/* Whether a keepalive's answer moves the deadline, once its confirmation has passed. */
#if defined(WITHOUT_CONFIRMATION) || defined(WITHOUT_RAFT_TERM)
#define STUCK_COUNTS true
#else
#define STUCK_COUNTS false
#endif
#ifdef WITHOUT_SENDING_TIME
#define AGED_COUNTS true
#else
#define AGED_COUNTS false
#endif

#ifdef WITHOUT_STOP
#define ACTS(i) (phase[i] == LEADING || phase[i] == GIVING || phase[i] == RESIGNING)
#else
#define ACTS(i) (phase[i] == LEADING)
#endif

#ifdef WITHOUT_FENCE
#define ACCEPTED(s, t) true
#else
#define ACCEPTED(s, t) (t >= fence[s])
#endif

#ifdef WITHOUT_UNKNOWN
#define FATE_KNOWN(s) true
#else
#define FATE_KNOWN(s) (give[s] == 0)
#endif
#ifdef WITHOUT_READING_BACK
#define STILL_MINE(p, s) true
#else
#define STILL_MINE(p, s) (NAMED(p, s) && held[AT(p, s)] == term[s])
#endif

/* Without the create revision, a lost session's write waits for a late copy of the session's key. */
#ifdef WITHOUT_CLAIM_CREATE
#define REVIVABLE_CLAIM(s) (CLAIM_RECORD(s) && late_key == claim_by[s])
#else
#define REVIVABLE_CLAIM(s) false
#endif

/* The member key that a process must have for its session to go on. */
#define HAS_KEY(p) (key[NODE(p)] == session[p] && created[NODE(p)] == own_create[p])
#define LEADS(p, s) (ACTS(AT(p, s)) && deadline[p] != PASSED)
#define LIVE(p) (deadline[p] != PASSED)
#define NAMED(p, s) (session[p] != 0 && record[s] == session[p])

/* ---- after each step --------------------------------------------------------------------------- */

/* Scratch: set before it is read within each step. pan's breadth-first search knows no hidden ones. */
#ifdef BREADTH_FIRST
#define SCRATCH byte
#else
#define SCRATCH hidden byte
#endif
SCRATCH p, q, s, k, v, low, leaders, found, kept, named;

/* A write whose guards are false for ever is as good as not there, and its fate is definite. */
inline drop_refused() {
  s = 0;
  do
  :: s < S ->
     if
     :: claim_by[s] != 0 && (!CLAIM_RECORD(s) || !CLAIM_LEASE(s) || !CLAIM_CREATE(s)) &&
          !REVIVABLE_CLAIM(s) -> forget_claim(s)
     :: else
     fi;
     if
     :: give[s] == TRANSFER && (!TRANSFER_RECORD(s) || !TRANSFER_MOVE(s) ||
          (!TRANSFER_TARGET(s) && late_key != give_to[s])) -> forget_give(s)
     :: give[s] == RESIGN && !RESIGN_RECORD(s) -> forget_give(s)
     :: else
     fi;
     if
     :: abandon_term[s] != 0 && !ABANDON_RECORD(s) -> abandon_term[s] = 0
     :: else
     fi;
     s++
  :: else -> break
  od
}

inline forget_claim(x) {
  claim_by[x] = 0; claim_created[x] = 0; claim_read[x] = 0; claim_over[x] = 0; claim_dropped[x] = 0
}
inline forget_give(x) {
  give[x] = 0; give_term[x] = 0; give_to[x] = 0; give_move_same[x] = 0
}

inline forget_leaderships(x) {
  s = 0;
  do
  :: s < S -> held[AT(x, s)] = 0; phase[AT(x, s)] = NONE; s++
  :: else -> break
  od
}

/* The session is over for this process; what it sent may be on its way still. */
inline end_session(x) {
  forget_leaderships(x);
  session[x] = 0;
  own_create[x] = 0;
  deadline[x] = PASSED;
  lease[x] = 0
}

/* A session without a process, a key or a copy of its creation on its way is gone for good. */
#define DEAD_FOR_GOOD(x) ((x) != NOBODY && (x) != GONE && session[OWNER(x)] != (x) && KEY(x) != (x) \
                          && late_key != (x))

/* Folds states that no continuation tells apart, if the guards are all there (README.md says why):
   who cannot lead any more has noticed it, and what a session's end leaves on its way is lost. */
#ifdef FOLDED
inline fold() {
  q = 0;
  do
  :: q < N ->
     if
     :: session[q] != 0 && deadline[q] == PASSED && !HAS_KEY(q) -> p = q; end_session(p)
     :: else
     fi;
     q++
  :: else -> break
  od;
  s = 0;
  do
  :: s < S ->
     if :: claim_by[s] != 0 && session[OWNER(claim_by[s])] != claim_by[s] -> forget_claim(s) :: else fi;
     if :: give[s] != 0 && !LIVES(record[s]) -> forget_give(s) :: else fi;
     if :: give[s] != 0 && session[OWNER(record[s])] != record[s] -> forget_give(s) :: else fi;
     if
     :: abandon_term[s] != 0 && (record[s] == 0 || session[OWNER(record[s])] != record[s]) ->
        abandon_term[s] = 0
     :: else
     fi;
     q = 0;
     do
     :: q < N ->
        if
        :: phase[AT(q, s)] > UNSEEN && !(NAMED(q, s) && held[AT(q, s)] == term[s]) ->
           held[AT(q, s)] = (NAMED(q, s) -> term[s] : 0);
           phase[AT(q, s)] = (NAMED(q, s) -> UNSEEN : NONE)
        :: else
        fi;
        q++
     :: else -> break
     od;
     s++
  :: else -> break
  od
}
#define VACANT_ONLY true
#else
inline fold() { skip }
#define VACANT_ONLY (!FAULTS)
#endif

inline bury() {
  s = 0;
  do
  :: s < S ->
     if :: DEAD_FOR_GOOD(record[s]) -> record[s] = GONE :: else fi;
     if :: DEAD_FOR_GOOD(claim_over[s]) -> claim_over[s] = GONE :: else fi;
     if :: DEAD_FOR_GOOD(prepared[s]) -> prepared[s] = 0 :: else fi; /* its move is void */
     s++
  :: else -> break
  od
}

/* Renumbers the terms of shard x in their order, so that the greatest stays small. */
inline renumber(x) {
  low = term[x];
  q = 0;
  do
  :: q < N -> if :: held[AT(q, x)] != 0 && held[AT(q, x)] < low -> low = held[AT(q, x)] :: else fi; q++
  :: else -> break
  od;
#ifdef FENCE
  if :: fence[x] < low -> fence[x] = 0 :: else fi; /* older than all there are: as if there was none */
#endif
  v = 1;
  do
  :: v < term[x] ->
     found = (FENCED(x) == v || claim_read[x] == v || give_term[x] == v || abandon_term[x] == v);
     q = 0;
     do
     :: q < N -> found = found || held[AT(q, x)] == v; q++
     :: else -> break
     od;
     if
     :: found -> v++
     :: else ->
        term[x]--;
#ifdef FENCE
        if :: fence[x] > v -> fence[x]-- :: else fi;
#endif
        if :: claim_read[x] > v -> claim_read[x]-- :: else fi;
        if :: give_term[x] > v -> give_term[x]-- :: else fi;
        if :: abandon_term[x] > v -> abandon_term[x]-- :: else fi;
        q = 0;
        do
        :: q < N -> if :: held[AT(q, x)] > v -> held[AT(q, x)]-- :: else fi; q++
        :: else -> break
        od
     fi
  :: else -> break
  od
}

inline check() {
  s = 0;
  do
  :: s < S ->
     leaders = 0;
     q = 0;
     do
     :: q < N ->
        leaders = leaders + (LEADS(q, s) && deadline[q] == AHEAD);
        /* Leads() is false while a write that gives the shard away may still land. */
        ALSO(!(phase[AT(q, s)] == LEADING && NAMED(q, s) && give[s] != 0 &&
               give_term[s] == held[AT(q, s)] && held[AT(q, s)] == term[s]));
        q++
     :: else -> break
     od;
     assert(leaders <= 1); /* but for who was killed early, at most one leads at an instant */
     renumber(s);
     s++
  :: else -> break
  od
}

inline forget_scratch() {
  p = 0; q = 0; s = 0; k = 0; v = 0; low = 0; leaders = 0; found = 0; kept = 0; named = 0
}

inline done() { drop_refused(); fold(); bury(); check(); forget_scratch() }


/* ---- etcd's commits ---------------------------------------------------------------------------- */

/* Commits record x := session y. The news reaches the process that it names later. */
inline put_record(x, y) {
  term[x]++;
  record[x] = y;
  prepared[x] = 0; /* the move is deleted, or void: it ends another term */
  if
  :: y != NOBODY ->
     q = OWNER(y);
     if
     :: session[q] == y && held[AT(q, x)] == 0 -> held[AT(q, x)] = term[x]; phase[AT(q, x)] = UNSEEN
     :: else
     fi
  :: else
  fi
}

/* ---- what a process does ----------------------------------------------------------------------- */

inline lose(x) {
  s = 0;
  do
  :: s < S ->
     if :: claim_by[s] == session[x] -> claim_dropped[s] = (claim_by[s] != 0) :: else fi;
     s++
  :: else -> break
  od;
  end_session(x)
}

/* The smallest number of process x that nothing names. */
inline choose_session(x) {
  k = x * T + 1;
  do
  :: found = (key[NODE(x)] == k || created[NODE(x)] / 2 == k || late_key == k || late_replaces == k);
     s = 0;
     do
     :: s < S ->
        found = found || record[s] == k || prepared[s] == k || claim_by[s] == k || claim_over[s] == k ||
                claim_created[s] / 2 == k || give_to[s] == k;
        s++
     :: else -> break
     od;
     if
     :: found -> k++; assert(k <= (x + 1) * T) /* else nothing is left to choose: T is too small */
     :: else -> break
     fi
  od
}

/* Session y's key, put over what node x's key was: that ends the session before it. */
inline put_key(x, creation) {
  kept = created[x];
  key[x] = 0;
  if :: creation -> created[x] = 0; kept = 0 :: else fi;
  drop_refused();
  bury();
  choose_session(p);
  key[x] = k;
  /* The create revision outlives a takeover: to be told apart only where a write names it. */
  named = 0;
  s = 0;
  do
  :: s < S -> named = named || (kept != 0 && claim_created[s] == kept); s++
  :: else -> break
  od;
  created[x] = (named -> kept : FIRST(k))
}

inline open_session(x, creation) {
  put_key(NODE(x), creation);
  session[x] = key[NODE(x)];
  own_create[x] = created[NODE(x)]
}

/* Sessions: their beginning, renewal and end. */
active [N] proctype Session() {
end:
  do
  /* A new session: its member key lands where there is none, or where the holder is proven dead. */
  :: d_step { session[_pid] == 0 && down != _pid + 1 && MAY_CREATE(NODE(_pid)) ->
       REACHED("member create"); p = _pid; open_session(p, true); done() }
  :: d_step { session[_pid] == 0 && down != _pid + 1 && key[NODE(_pid)] != 0 &&
              PROVEN_DEAD(key[NODE(_pid)]) ->
       REACHED("member takeover");
       p = _pid; open_session(p, false); done() }
#ifdef LATE_KEYS
  /* A copy of the creation stays on its way. */
  :: d_step { session[_pid] == 0 && down != _pid + 1 && MAY_CREATE(NODE(_pid)) && late_key == 0 ->
       REACHED("member create, a copy stays");
       p = _pid; open_session(p, true); late_key = session[p]; done() }
  /* The process dies, or gives up, before its key lands. */
  :: d_step { session[_pid] == 0 && down != _pid + 1 && late_key == 0 &&
              (key[NODE(_pid)] == 0 || PROVEN_DEAD(key[NODE(_pid)])) ->
       REACHED("member create or takeover, late");
       p = _pid; choose_session(p); late_key = k; late_replaces = key[NODE(p)]; done() }
#endif

  /* Renewals, each a keepalive and its confirmation. Answered by the present leader of etcd: */
  :: d_step { deadline[_pid] != AHEAD && session[_pid] != 0 && key[NODE(_pid)] == session[_pid] ->
       REACHED("renewal, confirmed");
       p = _pid;
       if :: CONFIRMS(p) -> lease[p] = 1; deadline[p] = AHEAD :: else -> lose(p) fi;
       done() }
  /* By a leader that is stuck, and none any more: OK, but nothing was renewed. */
  :: d_step { FAULTS && deadline[_pid] != AHEAD && session[_pid] != 0 && CONFIRMS(_pid) ->
       REACHED("renewal, stuck leader");
       p = _pid;
       deadline[p] = (STUCK_COUNTS -> AHEAD : deadline[p]);
       done() }
  /* By the present leader, though the lease is gone. */
  :: d_step { FAULTS && deadline[_pid] != AHEAD && session[_pid] != 0 && !HAS_KEY(_pid) ->
       REACHED("renewal, lease gone");
       p = _pid;
       if :: CONFIRMS(p) -> deadline[p] = AHEAD :: else -> lose(p) fi;
       done() }
  /* More than a TTL after it was sent. */
  :: d_step { FAULTS && deadline[_pid] != AHEAD && session[_pid] != 0 && CONFIRMS(_pid) ->
       REACHED("renewal, answered late");
       p = _pid;
       deadline[p] = (AGED_COUNTS -> AHEAD : deadline[p]);
       done() }

  /* A TTL passes since the keepalive that counts was sent. */
  :: d_step { FAULTS && deadline[_pid] != PASSED ->
       REACHED("deadline passes");
       p = _pid; deadline[p] = PASSED; lease[p] = 0; done() }

#ifdef WITHOUT_LOST_FOR_EVER
  /* Its key was seen gone: puts it again, and goes on. */
  :: d_step { session[_pid] != 0 && key[NODE(_pid)] == 0 ->
       p = _pid;
       key[NODE(p)] = session[p];
       created[NODE(p)] = LATE(session[p]);
       own_create[p] = LATE(session[p]);
       done() }
#else
  /* Its key was seen gone, or with another lease. */
  :: d_step { session[_pid] != 0 && !HAS_KEY(_pid) ->
       REACHED("session lost"); p = _pid; lose(p); done() }
#endif

  /* The process dies. A node that drains ends its session likewise: it has stopped leading, and
     leaves its lease to be revoked. */
  :: d_step { FAULTS && session[_pid] != 0 ->
       REACHED("process dies or session ends"); p = _pid; end_session(p); done() }
#ifdef LIVENESS
  :: d_step { FAULTS -> calm = true }
  :: d_step { FAULTS && session[_pid] == 0 -> calm = true; down = _pid + 1 }
#endif
#ifdef WITHOUT_STOP_BEFORE_REVOKE
  :: d_step { session[_pid] != 0 && HAS_KEY(_pid) ->
       p = _pid; key[NODE(p)] = 0; created[NODE(p)] = 0; done() }
#endif
  od
}

/* Leadership of shard SHARD, as process PROCESS sees it. */
#define PROCESS ((_pid - N) / S)
#define SHARD ((_pid - N) % S)
#define HERE AT(PROCESS, SHARD)

active [N * S] proctype Leadership() {
end:
  do
#ifndef WITHOUT_CLAIMS
  /* Claims, whatever it takes for vacant: its view of who lives may be old. */
  :: d_step { LIVE(PROCESS) && held[HERE] == 0 && claim_by[SHARD] == 0 &&
              record[SHARD] != session[PROCESS] && (!VACANT_ONLY || !LIVES(record[SHARD])) ->
       REACHED("claim sent");
       p = PROCESS; s = SHARD;
       claim_by[s] = session[p];
       claim_created[s] = own_create[p];
       claim_read[s] = term[s];
       claim_over[s] = record[s];
       done() }
#endif

  /* News of a record that names this session, however old it is. */
  :: d_step { phase[HERE] == UNSEEN ->
       REACHED("leadership seen"); phase[HERE] = LEADING; done() }

  /* The record as it is now: another holds it, or this session by another term. */
  :: d_step { held[HERE] != 0 && !(NAMED(PROCESS, SHARD) && held[HERE] == term[SHARD]) ->
       REACHED("record seen changed");
       p = PROCESS; s = SHARD;
       if
       :: NAMED(p, s) ->
          assert(term[s] > held[AT(p, s)]); /* terms only grow */
          held[AT(p, s)] = term[s];
          phase[AT(p, s)] = LEADING
       :: else -> held[AT(p, s)] = 0; phase[AT(p, s)] = NONE
       fi;
       done() }

  /* The balancer plans a move to this process, which prepares and says so. */
  :: d_step { FAULTS && LIVE(PROCESS) && HAS_KEY(PROCESS) && prepared[SHARD] == 0 &&
              LIVES(record[SHARD]) && record[SHARD] != session[PROCESS] ->
       REACHED("move planned and prepared");
       s = SHARD; prepared[s] = session[PROCESS]; give_move_same[s] = 0; done() }

  /* Stops leading, then gives the shard to who prepared for it. */
  :: d_step { LIVE(PROCESS) && phase[HERE] == LEADING && NAMED(PROCESS, SHARD) &&
              held[HERE] == term[SHARD] && prepared[SHARD] != 0 && give[SHARD] == 0 ->
       REACHED("transfer sent");
       p = PROCESS; s = SHARD;
       phase[AT(p, s)] = GIVING;
       give[s] = TRANSFER;
       give_term[s] = held[AT(p, s)];
       give_to[s] = prepared[s];
       give_move_same[s] = 1;
       done() }

  /* Stops leading, then resigns. */
  :: d_step { FAULTS && phase[HERE] == LEADING && give[SHARD] == 0 ->
       REACHED("resign sent");
       p = PROCESS; s = SHARD;
       phase[AT(p, s)] = RESIGNING;
       give[s] = RESIGN;
       give_term[s] = held[AT(p, s)];
       done() }

  /* Gives the handoff up, the transfer's fate unknown. */
  :: d_step { LIVE(PROCESS) && phase[HERE] == GIVING && abandon_term[SHARD] == 0 ->
       REACHED("abandon sent");
       p = PROCESS; s = SHARD;
#ifdef WITHOUT_ABANDON
       phase[AT(p, s)] = LEADING;
#else
       phase[AT(p, s)] = ABANDONING;
       abandon_term[s] = held[AT(p, s)];
#endif
       done() }

  /* A refusal is definite, and what was read back says that the record is as it was. */
  :: d_step { (phase[HERE] == GIVING || phase[HERE] == RESIGNING || phase[HERE] == ABANDONING) &&
              FATE_KNOWN(SHARD) && STILL_MINE(PROCESS, SHARD) ->
       REACHED("giving refused");
       phase[HERE] = LEADING; done() }
  /* The abandon's answer: done. Its guard was the look at the record. */
  :: d_step { phase[HERE] == ABANDONED ->
       REACHED("abandon done");
       phase[HERE] = LEADING; done() }
  :: d_step { FAULTS && phase[HERE] == ABANDONING && abandon_term[SHARD] != 0 ->
       REACHED("abandon denied");
       p = PROCESS; s = SHARD;
       abandon_term[s] = 0;
       phase[AT(p, s)] = GIVING;
       done() }

#ifdef FENCE
  /* The resource that the shard stands for sees this leader's term. */
  :: d_step { LEADS(PROCESS, SHARD) && held[HERE] != fence[SHARD] && ACCEPTED(SHARD, held[HERE]) ->
       REACHED("fenced write");
       p = PROCESS; s = SHARD;
       assert(held[AT(p, s)] > fence[s]); /* never an older term after a newer one */
       fence[s] = held[AT(p, s)];
       done() }
#endif
  od
}

/* Writes that land on one shard's record and move. */
#define LANDS_ON (_pid - N - N * S)

active [S] proctype Record() {
end:
  do
  :: d_step { claim_by[LANDS_ON] != 0 && CLAIM_RECORD(LANDS_ON) && CLAIM_DEAD(LANDS_ON) &&
              CLAIM_LEASE(LANDS_ON) && CLAIM_CREATE(LANDS_ON) ->
       REACHED("claim lands");
       s = LANDS_ON;
       ALSO(!claim_dropped[s]); /* what counts as refused never happens */
       k = claim_by[s];
       ALSO(KEY(k) == k);
       forget_claim(s);
       put_record(s, k);
       done() }
  /* Lost, and not sent again: refused for now, or its process is gone. */
  :: d_step { claim_by[LANDS_ON] != 0 && (LIVES(claim_over[LANDS_ON]) ||
              session[OWNER(claim_by[LANDS_ON])] != claim_by[LANDS_ON]) ->
       REACHED("claim lost");
       s = LANDS_ON; forget_claim(s); done() }

  :: d_step { give[LANDS_ON] == TRANSFER && TRANSFER_RECORD(LANDS_ON) && TRANSFER_MOVE(LANDS_ON) &&
              TRANSFER_TARGET(LANDS_ON) ->
       REACHED("transfer lands");
       s = LANDS_ON;
       k = give_to[s];
       ALSO(KEY(k) == k); /* no revision without a leader that lives */
       ALSO(prepared[s] == k);   /* what was withdrawn is not carried out */
       forget_give(s);
       put_record(s, k);
       done() }

  :: d_step { give[LANDS_ON] == RESIGN && RESIGN_RECORD(LANDS_ON) ->
       REACHED("resign lands");
       s = LANDS_ON; forget_give(s); put_record(s, NOBODY); done() }

  :: d_step { abandon_term[LANDS_ON] != 0 && ABANDON_RECORD(LANDS_ON) ->
       REACHED("abandon lands");
       s = LANDS_ON;
       q = 0;
       do
       :: q < N ->
          if
          :: phase[AT(q, s)] == ABANDONING && held[AT(q, s)] == abandon_term[s] ->
             phase[AT(q, s)] = ABANDONED
          :: else
          fi;
          q++
       :: else -> break
       od;
       abandon_term[s] = 0;
#ifndef WITHOUT_ABANDON_MOVE
       prepared[s] = 0; give_move_same[s] = 0;
#endif
       done() }

  /* The move is withdrawn. */
  :: d_step { FAULTS && prepared[LANDS_ON] != 0 ->
       REACHED("move withdrawn");
       s = LANDS_ON; prepared[s] = 0; give_move_same[s] = 0; done() }
  od
}

/* Leases, which end keys, and the copy of a creation that is late. */
#define HOLDER (_pid - N - N * S - S)
#define IN_USE(n) (session[OWNER(key[n])] == key[n])

active [N] proctype Lease() {
end:
  do
  /* Runs out, or is revoked by the node that has ended its session. */
  :: d_step { key[HOLDER] != 0 &&
              (!IN_USE(HOLDER) || (FAULTS && lease[OWNER(key[HOLDER])] == 0)) ->
       REACHED("lease ends");
       q = HOLDER; key[q] = 0; created[q] = 0; done() }

  /* Revoked early: queued by an etcd leader that is none any more. */
  :: d_step { FAULTS && key[HOLDER] != 0 && IN_USE(HOLDER) && lease[OWNER(key[HOLDER])] == 1 ->
       REACHED("lease revoked early");
       q = HOLDER;
       p = OWNER(key[q]);
       lease[p] = 0;
       deadline[p] = (deadline[p] == AHEAD -> EXCUSED : deadline[p]);
       key[q] = 0;
       created[q] = 0;
       done() }

#ifdef LATE_KEYS
  :: d_step { late_key != 0 && NODE(OWNER(late_key)) == HOLDER && late_replaces == 0 &&
              MAY_CREATE(HOLDER) ->
       REACHED("late create lands");
       q = HOLDER; key[q] = late_key; created[q] = LATE(late_key); late_key = 0; done() }
  :: d_step { late_key != 0 && NODE(OWNER(late_key)) == HOLDER && late_replaces != 0 &&
              MAY_REPLACE(HOLDER, late_replaces) ->
       REACHED("late takeover lands");
       q = HOLDER; key[q] = late_key; late_key = 0; late_replaces = 0; done() }
  :: d_step { late_key != 0 && NODE(OWNER(late_key)) == HOLDER ->
       REACHED("late create or takeover lost");
       late_key = 0; late_replaces = 0; done() }
#endif
  od
}

#ifdef LIVENESS
/* Time goes on where nothing happens any more: without a step there is no run to be judged. */
active proctype Clock() {
end:
  do
  :: calm -> skip
  od
}

#define LED_BY(p, s) (p < N && LEADS(p, s) && NAMED(p, s) && held[AT(p, s)] == term[s])
#if N == 2
#define LED(s) (LED_BY(0, s) || LED_BY(1, s))
#else
#define LED(s) (LED_BY(0, s) || LED_BY(1, s) || LED_BY(2, s))
#endif
#if S == 1
#define ALL_LED LED(0)
#else
#define ALL_LED (LED(0) && LED(1))
#endif
ltl led { [] (calm -> <> [] ALL_LED) }
#endif
