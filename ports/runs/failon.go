package runs

// The values of Spec.FailOn.
const (
	FailOnNoHosts     = "no_hosts"
	FailOnUnreachable = "unreachable"
	FailOnWarnings    = "warnings" // any but WarnQueueUnserved, which says nothing about what was executed
)

// FailsOn reports whether a run that fails on name fails on a warning with the code. An unknown name is no error.
func FailsOn(name, code string) bool {
	switch name {
	case FailOnNoHosts:
		return code == WarnNoHostsMatched
	case FailOnUnreachable:
		return code == WarnHostsUnreachable
	default:
		return name == FailOnWarnings && code != WarnQueueUnserved
	}
}
