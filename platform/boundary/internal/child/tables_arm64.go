package child

// tables returns the numbers of 64 bits; those of 32 bits are refused as a whole. Refused are: bpf, perf_event_open,
// userfaultfd, io_uring, keys, kexec, modules and open_by_handle_at.
func tables() []table {
	return []table{{
		arch:    0xc00000b7,
		refused: []uint32{280, 241, 282, 425, 426, 427, 217, 218, 219, 104, 294, 105, 106, 273, 265},
		clone:   220, unshare: 97, clone3: 435, ioctl: 29,
	}}
}
