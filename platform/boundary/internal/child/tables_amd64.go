package child

// tables returns the numbers of 64 and of 32 bits, which every process may use. Refused are: bpf, perf_event_open,
// userfaultfd, io_uring, keys, kexec, modules and open_by_handle_at.
func tables() []table {
	return []table{
		{
			arch: 0xc000003e, foreign: 0x40000000,
			refused: []uint32{321, 298, 323, 425, 426, 427, 248, 249, 250, 246, 320, 174, 175, 176, 177, 178, 313, 304},
			clone:   56, unshare: 272, clone3: 435, ioctl: 16,
		},
		{
			arch:    0x40000003,
			refused: []uint32{357, 336, 374, 425, 426, 427, 286, 287, 288, 283, 127, 128, 129, 130, 167, 350, 342},
			clone:   120, unshare: 310, clone3: 435, ioctl: 54,
		},
	}
}
