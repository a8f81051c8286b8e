-- A lock with a channel per node and direction, and no addresses in messages. Home grants to all.
const N: 2;
type
  NODE: scalarset(N);
  MSG: record Cmd: enum {Empty, Req, Grant}; Turn: 0..9; end;
var
  Chan1: array [NODE] of MSG;
  Chan2: array [NODE] of MSG;
  State: array [NODE] of enum {Idle, Waiting, Inside};
  Granted: 0..N;

startstate "idle"
  for i: NODE do
    Chan1[i].Cmd := Empty;
    Chan2[i].Cmd := Empty;
    State[i] := Idle;
  end;
  Granted := 0;
end;

ruleset i: NODE do
  rule "ask" State[i] = Idle & Chan1[i].Cmd = Empty ==>
    Chan1[i].Cmd := Req;
    State[i] := Waiting;
  end;
  rule "grant" Chan1[i].Cmd = Req & Chan2[i].Cmd = Empty ==>
    Chan1[i].Cmd := Empty;
    Chan2[i].Cmd := Grant;
    Granted := Granted + 1;
    Chan2[i].Turn := Granted;
  end;
  rule "enter" Chan2[i].Cmd = Grant ==>
    Chan2[i].Cmd := Empty;
    undefine Chan2[i].Turn;
    State[i] := Inside;
  end;
end;

invariant "one inside"
  forall i: NODE do forall j: NODE do
    i != j -> !(State[i] = Inside & State[j] = Inside)
  end end;
