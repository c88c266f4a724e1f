/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * long syscall(long number, ...): libc's, but for mmap and munmap of adapters. UCX and Open MPI watch the
 * memory map by a jump written over the first bytes of the `mmap` that programs call, ours, and go on with
 * syscall(SYS_mmap), which must find the adapter's pages all the same.
 */
#define NR_MMAP	  9
#define NR_MUNMAP 11

	.text
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	cmpq	$NR_MMAP, %rdi
	je	preload_syscall_mmap
	cmpq	$NR_MUNMAP, %rdi
	je	preload_syscall_munmap
	jmp	raw_syscall
	.cfi_endproc
	.size	syscall, . - syscall

	.hidden	preload_syscall_mmap
	.hidden	preload_syscall_munmap
	.hidden	raw_syscall
	.section .note.GNU-stack, "", @progbits
