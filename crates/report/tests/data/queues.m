-- Queues as arrays, a queue per receiver. What is behind the head moves up when the head is taken.
const
  Nodes: 3;
  Room: 3;
type
  Node: 1..Nodes;
  Message: record mtype: enum {Ping, Pong, Stop}; from: Node; end;
var
  inbox: array [Node] of array [0..Room - 1] of Message;
  waiting: array [Node] of 0..Room;
  phase: 0..2;
  stopped: boolean;

procedure send(kind: 0..2; from: Node; to_: Node);
begin
  switch kind
  case 0: inbox[to_][waiting[to_]].mtype := Ping;
  case 1: inbox[to_][waiting[to_]].mtype := Pong;
  else inbox[to_][waiting[to_]].mtype := Stop;
  end;
  inbox[to_][waiting[to_]].from := from;
  waiting[to_] := waiting[to_] + 1;
end;

procedure take(n: Node);
begin
  for i := 0 to Room - 2 do
    inbox[n][i] := inbox[n][i + 1];
  end;
  undefine inbox[n][Room - 1];
  waiting[n] := waiting[n] - 1;
end;

startstate "one has much to say"
  for n: Node do waiting[n] := 0; end;
  phase := 0;
  stopped := false;
end;

rule "speak" phase = 0 ==>
  send(0, 1, 2);
  send(2, 1, 2);
  send(0, 1, 3);
  send(0, 1, 1);
  phase := 1;
end;

ruleset n: Node do
  rule "answer" waiting[n] > 0 & n != 1 & inbox[n][0].mtype = Ping ==>
    take(n);
    send(1, n, 1);
  end;
  rule "stop" waiting[n] > 0 & inbox[n][0].mtype = Stop ==>
    take(n);
    stopped := true;
  end;
end;

invariant "nobody stops" !stopped;
