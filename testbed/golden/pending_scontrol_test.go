package golden

// Lines of scontrol: all are equal.
var pendingScontrol []string
