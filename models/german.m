-- German's directory protocol: one cache line, a home node, N clients.
--
-- Models:  the protocol that Steven German posed as a challenge in 2000, as described by A. Pnueli,
--          S. Ruah and L. Zuck, "Automatic deductive verification with invisible invariants",
--          TACAS 2001, with data as in C.-T. Chou, P. K. Mannava and S. Park, "A simple method
--          for parameterized verification of cache coherence protocols", FMCAD 2004.
-- Network: three channels per client, each holds one message.
-- Sizes:   NODES clients, VALUES data values.
-- Checks:  control: an exclusive copy is the only copy. Data: every copy has the value that was
--          written last, and so has the memory while nobody has an exclusive copy.
-- Wrong:   --const BUG=1  home grants a shared copy while an exclusive one is out.
--          --const BUG=2  home drops the data that comes back from an exclusive copy.

const
  NODES: 2;
  VALUES: 2;
  BUG: 0;

type
  Client: scalarset(NODES);
  HomeNode: enum {Home};
  Node: union {HomeNode, Client};
  Value: scalarset(VALUES);

  CacheState: enum {Invalid, Shared, Exclusive};
  MessageType: enum {ReqShared, ReqExclusive, Invalidate, InvAck, GrantShared, GrantExclusive};

  -- An undefined message is no message.
  Message: record
    mtype: MessageType;
    src: Node;
    dst: Node;
    val: Value;
  end;

  Cache: record
    state: CacheState;
    val: Value;
  end;

var
  cache: array [Client] of Cache;

  request: array [Client] of Message;     -- To home.
  order: array [Client] of Message;       -- From home.
  answer: array [Client] of Message;      -- To home.

  -- What home knows.
  memory: Value;
  sharers: array [Client] of boolean;
  to_invalidate: array [Client] of boolean;
  exclusive_is_out: boolean;
  served: Message;                        -- The request at work; undefined if there is none.

  -- For the properties only.
  last_written: Value;

function is_free(channel: Message): boolean;
begin
  return isundefined(channel.mtype);
end;

function holds(channel: Message; t: MessageType): boolean;
begin
  return !isundefined(channel.mtype) & channel.mtype = t;
end;

procedure send(var channel: Message; t: MessageType; from: Node; to_: Node);
begin
  channel.mtype := t;
  channel.src := from;
  channel.dst := to_;
end;

procedure grant(p: Client; t: MessageType);
begin
  send(order[p], t, Home, p);
  order[p].val := memory;
  sharers[p] := true;
  undefine served;
end;

ruleset v: Value do
  startstate "nobody has a copy"
    for p: Client do
      cache[p].state := Invalid;
      undefine cache[p].val;
      undefine request[p];
      undefine order[p];
      undefine answer[p];
      sharers[p] := false;
      to_invalidate[p] := false;
    end;
    undefine served;
    exclusive_is_out := false;
    memory := v;
    last_written := v;
  end;
end;

ruleset p: Client do
  alias line: cache[p] do

    ruleset v: Value do
      rule "client writes" line.state = Exclusive ==>
        line.val := v;
        last_written := v;
      end;
    end;

    rule "client asks for a shared copy" line.state = Invalid & is_free(request[p]) ==>
      send(request[p], ReqShared, p, Home);
    end;

    rule "client asks for an exclusive copy" line.state != Exclusive & is_free(request[p]) ==>
      send(request[p], ReqExclusive, p, Home);
    end;

    rule "client gives up its copy" holds(order[p], Invalidate) & is_free(answer[p]) ==>
      undefine order[p];
      send(answer[p], InvAck, p, Home);
      if line.state = Exclusive then
        answer[p].val := line.val;
      end;
      line.state := Invalid;
      undefine line.val;
    end;

    rule "client takes a shared copy" holds(order[p], GrantShared) ==>
      line.state := Shared;
      line.val := order[p].val;
      undefine order[p];
    end;

    rule "client takes an exclusive copy" holds(order[p], GrantExclusive) ==>
      line.state := Exclusive;
      line.val := order[p].val;
      undefine order[p];
    end;

  end;

  rule "home begins to serve a request" is_free(served) & !is_free(request[p]) ==>
    served := request[p];
    undefine request[p];
    for q: Client do
      to_invalidate[q] := sharers[q];
    end;
  end;

  rule "home invalidates"
    is_free(order[p]) & to_invalidate[p]
    & (holds(served, ReqExclusive) | holds(served, ReqShared) & exclusive_is_out)
  ==>
    send(order[p], Invalidate, Home, p);
    to_invalidate[p] := false;
  end;

  rule "home notes that a copy is gone" holds(answer[p], InvAck) & !is_free(served) ==>
    sharers[p] := false;
    if exclusive_is_out then
      exclusive_is_out := false;
      if BUG != 2 then
        memory := answer[p].val;
      end;
    end;
    undefine answer[p];
  end;

  rule "home grants a shared copy"
    holds(served, ReqShared) & served.src = p & is_free(order[p]) & (!exclusive_is_out | BUG = 1)
  ==>
    grant(p, GrantShared);
  end;

  rule "home grants an exclusive copy"
    holds(served, ReqExclusive) & served.src = p & is_free(order[p])
    & forall q: Client do !sharers[q] end
  ==>
    grant(p, GrantExclusive);
    exclusive_is_out := true;
  end;
end;

invariant "an exclusive copy is the only copy"
  forall p: Client do
    cache[p].state = Exclusive ->
      forall q: Client do q != p -> cache[q].state = Invalid end
  end;

invariant "every copy has the value that was written last"
  forall p: Client do
    cache[p].state != Invalid -> cache[p].val = last_written
  end;

invariant "memory has the value that was written last"
  !exclusive_is_out -> memory = last_written;
