-- No messages and no arrays: only what changes can be shown.
var x: 0..9; y: boolean;
startstate x := 0; y := false; end;
rule "step" x < 9 ==> x := x + 1; end;
rule "turn" y := !y; end;
invariant "small" x < 3 | !y;
