/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * long syscall(long number, ...): libc's, but for mmap and munmap of adapters. UCX and Open MPI watch the
 * memory map by a jump written over the first bytes of the `mmap` that programs call, ours, and go on with
 * syscall(SYS_mmap), which must find the adapter's pages all the same.
 *
 * All else goes straight to the kernel, without a frame: clone and vfork return twice.
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
	/* Falls through. */
	.globl	preload_syscall_raw
	.hidden	preload_syscall_raw
	.type	preload_syscall_raw, @function
preload_syscall_raw:
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	movq	%rax, %rdi
	jmp	preload_syscall_error
	.cfi_endproc
	.size	preload_syscall_raw, . - preload_syscall_raw
	.size	syscall, . - syscall

	.hidden	preload_syscall_mmap
	.hidden	preload_syscall_munmap
	.hidden	preload_syscall_error
	.section .note.GNU-stack, "", @progbits
