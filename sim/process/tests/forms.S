/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Every form of store and load that the BAR trap carries out. A store form takes rdi = destination,
 * rsi = 64 bytes of source; a load form takes rdi = 128 bytes for the result, rsi = source. Each is run
 * on ordinary memory and on a BAR page, and the test compares: nothing is expected by hand.
 */
.set NEED_BASE, 0
.set NEED_AVX, 1
.set NEED_AVX512, 2

/* list: stores or loads; where to run: any page, or one below 4 GiB, or bar_page itself */
.macro FORM list, name, need=NEED_BASE, low=0
	.section .rodata.formnames, "a"
10:	.asciz "\name"
	.section \list, "aw"
	.align 8
	.quad 10b, \list\()_\name
	.long \need, \low
	.text
\list\()_\name:
.endm
.macro END
	ret
.endm

/* ---- Stores from general registers ---- */
FORM stores, mov_r8
	mov	(%rsi), %al
	mov	%al, 3(%rdi)
END
FORM stores, mov_ah
	mov	(%rsi), %ax
	mov	%ah, (%rdi)
END
FORM stores, mov_sil
	mov	(%rsi), %rsi
	mov	%sil, (%rdi)
END
FORM stores, mov_r16
	mov	(%rsi), %ax
	mov	%ax, 2(%rdi)
END
FORM stores, mov_r32
	mov	(%rsi), %ecx
	mov	%ecx, 4(%rdi)
END
FORM stores, mov_r64
	mov	(%rsi), %rdx
	mov	%rdx, 8(%rdi)
END
FORM stores, mov_r64_unaligned
	mov	(%rsi), %r11
	mov	%r11, 5(%rdi)
END
FORM stores, mov_rbp_r12_base
	push	%r12
	mov	%rdi, %r12
	mov	(%rsi), %r9
	mov	%r9, 16(%r12)
	pop	%r12
END
FORM stores, mov_rsp_r13_value
	push	%r13
	mov	(%rsi), %r13
	mov	%r13, 16(%rdi)
	pop	%r13
END
FORM stores, mov_sib
	mov	$6, %rcx
	mov	(%rsi), %rax
	mov	%rax, 24(%rdi,%rcx,8)
END
FORM stores, mov_sib_negative
	lea	256(%rdi), %r10
	mov	$-3, %r8
	mov	(%rsi), %rax
	mov	%rax, -100(%r10,%r8,4)
END
FORM stores, mov_index_only
	mov	(%rsi), %rax
	mov	%rax, 8(,%rdi,1)
END
FORM stores, mov_imm8
	movb	$0x5c, (%rdi)
END
FORM stores, mov_imm16
	movw	$0x1234, (%rdi)
END
FORM stores, mov_imm32
	movl	$0x89abcdef, 4(%rdi)
END
FORM stores, mov_imm64_sign_extended
	movq	$-2, 8(%rdi)
END
FORM stores, mov_addr32, low=1
	mov	(%rsi), %rax
	addr32 mov %rax, (%edi)
END
FORM stores, movabs, low=1
	mov	(%rsi), %rax
	movabs	%rax, 0x31000040
END
FORM stores, movabs_al, low=1
	mov	(%rsi), %al
	movabs	%al, 0x31000041
END
FORM stores, movnti32
	mov	(%rsi), %eax
	movnti	%eax, (%rdi)
END
FORM stores, movnti64
	mov	(%rsi), %rax
	movnti	%rax, 56(%rdi)
END
FORM stores, movbe16
	mov	(%rsi), %ax
	movbe	%ax, (%rdi)
END
FORM stores, movbe32
	mov	(%rsi), %eax
	movbe	%eax, (%rdi)
END
FORM stores, movbe64
	mov	(%rsi), %rax
	movbe	%rax, (%rdi)
END
FORM stores, stosb
	mov	(%rsi), %al
	stosb
END
FORM stores, stosq
	mov	(%rsi), %rax
	stosq
END
FORM stores, movsb
	movsb
END
FORM stores, movsd
	movsl
END
FORM stores, movsq
	movsq
END
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
FORM stores, set\cc\()_greater
	mov	$7, %eax
	cmp	$3, %eax
	set\cc	(%rdi)
END
FORM stores, set\cc\()_overflow
	mov	$0x80000000, %eax
	cmp	$1, %eax
	set\cc	(%rdi)
END
FORM stores, set\cc\()_equal
	cmp	%eax, %eax
	set\cc	(%rdi)
END
.endr

/* ---- Stores from SSE registers ---- */
.irp op, movaps, movups, movapd, movupd, movdqa, movdqu, movntps, movntpd, movntdq
FORM stores, \op
	movdqu	(%rsi), %xmm3
	\op	%xmm3, 32(%rdi)
END
.endr
.irp op, movd, movq, movss, movsd, movlps, movhps, movlpd, movhpd
FORM stores, \op\()_xmm
	movdqu	(%rsi), %xmm9
	\op	%xmm9, 8(%rdi)
END
.endr
FORM stores, pextrb
	movdqu	(%rsi), %xmm1
	pextrb	$13, %xmm1, (%rdi)
END
FORM stores, pextrw
	movdqu	(%rsi), %xmm1
	pextrw	$5, %xmm1, (%rdi)
END
FORM stores, pextrd
	movdqu	(%rsi), %xmm1
	pextrd	$3, %xmm1, (%rdi)
END
FORM stores, pextrq
	movdqu	(%rsi), %xmm1
	pextrq	$1, %xmm1, (%rdi)
END
FORM stores, extractps
	movdqu	(%rsi), %xmm1
	extractps $2, %xmm1, (%rdi)
END

/* ---- VEX ---- */
.irp op, vmovaps, vmovups, vmovapd, vmovupd, vmovdqa, vmovdqu, vmovntps, vmovntpd, vmovntdq
FORM stores, \op\()_xmm, NEED_AVX
	vmovdqu	(%rsi), %xmm7
	\op	%xmm7, 16(%rdi)
END
FORM stores, \op\()_ymm, NEED_AVX
	vmovdqu	(%rsi), %ymm14
	\op	%ymm14, 32(%rdi)
END
.endr
.irp op, vmovd, vmovq, vmovss, vmovsd, vmovlps, vmovhps, vmovlpd, vmovhpd
FORM stores, \op, NEED_AVX
	vmovdqu	(%rsi), %xmm2
	\op	%xmm2, (%rdi)
END
.endr
FORM stores, vpextrq, NEED_AVX
	vmovdqu	(%rsi), %xmm2
	vpextrq	$1, %xmm2, (%rdi)
END
FORM stores, vextractf128, NEED_AVX
	vmovdqu	(%rsi), %ymm2
	vextractf128 $1, %ymm2, (%rdi)
END
FORM stores, vextracti128, NEED_AVX
	vmovdqu	(%rsi), %ymm12
	vextracti128 $1, %ymm12, 16(%rdi)
END

/* ---- EVEX ---- */
.irp op, vmovaps, vmovups, vmovdqa32, vmovdqa64, vmovdqu8, vmovdqu16, vmovdqu32, vmovdqu64, vmovntdq, vmovntps
FORM stores, \op\()_zmm, NEED_AVX512
	vmovdqu64 (%rsi), %zmm5
	\op	%zmm5, 64(%rdi)
END
FORM stores, \op\()_zmm31, NEED_AVX512
	vmovdqu64 (%rsi), %zmm31
	\op	%zmm31, 128(%rdi)
END
FORM stores, \op\()_ymm18, NEED_AVX512
	vmovdqu64 (%rsi), %ymm18
	\op	%ymm18, 32(%rdi)
END
FORM stores, \op\()_xmm17, NEED_AVX512
	vmovdqu64 (%rsi), %xmm17
	\op	%xmm17, 16(%rdi)
END
.endr
FORM stores, vmovdqu64_zmm_unaligned, NEED_AVX512
	vmovdqu64 (%rsi), %zmm0
	vmovdqu64 %zmm0, 7(%rdi)
END
FORM stores, vmovq_xmm20, NEED_AVX512
	vmovdqu64 (%rsi), %xmm20
	vmovq	%xmm20, 8(%rdi)
END
FORM stores, vextracti32x4, NEED_AVX512
	vmovdqu64 (%rsi), %zmm6
	vextracti32x4 $2, %zmm6, (%rdi)
END
FORM stores, vextracti64x4, NEED_AVX512
	vmovdqu64 (%rsi), %zmm26
	vextracti64x4 $1, %zmm26, (%rdi)
END
FORM stores, vmovdqu32_masked_run, NEED_AVX512
	vmovdqu64 (%rsi), %zmm1
	mov	$0x0ff0, %eax
	kmovw	%eax, %k3
	vmovdqu32 %zmm1, (%rdi){%k3}
END

/* ---- Loads into general registers: all bits of the result count ---- */
.macro GET reg
	mov	\reg, (%rdi)
	ret
.endm
FORM loads, mov_r8
	mov	$-1, %rax
	mov	1(%rsi), %al
	GET	%rax
FORM loads, mov_ah
	mov	$-1, %rax
	mov	1(%rsi), %ah
	GET	%rax
FORM loads, mov_r16
	mov	$-1, %rcx
	mov	2(%rsi), %cx
	GET	%rcx
FORM loads, mov_r32
	mov	$-1, %rdx
	mov	4(%rsi), %edx
	GET	%rdx
FORM loads, mov_r64
	mov	8(%rsi), %r11
	GET	%r11
FORM loads, movzx_b
	movzbl	3(%rsi), %eax
	GET	%rax
FORM loads, movzx_w
	movzwq	2(%rsi), %rax
	GET	%rax
FORM loads, movsx_b16
	mov	$0x5555555555555555, %rax
	movsbw	(%rsi), %ax
	GET	%rax
FORM loads, movsx_b32
	movsbl	(%rsi), %r8d
	GET	%r8
FORM loads, movsx_w64
	movswq	(%rsi), %r9
	GET	%r9
FORM loads, movsxd
	movslq	(%rsi), %r10
	GET	%r10
FORM loads, movbe32
	movbe	(%rsi), %eax
	GET	%rax
FORM loads, movbe64
	movbe	(%rsi), %rax
	GET	%rax
FORM loads, movabs, low=1
	movabs	0x31000040, %rax
	GET	%rax
FORM loads, movsq
	movsq
END

/* ---- Loads into vector registers: what else the register holds counts, too ---- */
.macro FILL reg
	pcmpeqd	\reg, \reg
.endm
.irp op, movaps, movups, movapd, movupd, movdqa, movdqu, lddqu, movntdqa
FORM vector_loads, \op
	FILL	%xmm4
	\op	16(%rsi), %xmm4
	movdqu	%xmm4, (%rdi)
END
.endr
.irp op, movd, movq, movss, movsd, movlps, movhps, movlpd, movhpd
FORM vector_loads, \op\()_xmm
	FILL	%xmm10
	\op	8(%rsi), %xmm10
	movdqu	%xmm10, (%rdi)
END
.endr
FORM vector_loads, movdqu_keeps_ymm, NEED_AVX
	vpcmpeqd %ymm4, %ymm4, %ymm4
	movdqu	(%rsi), %xmm4
	vmovdqu	%ymm4, (%rdi)
END
.irp op, vmovaps, vmovups, vmovdqa, vmovdqu, vlddqu, vmovntdqa
FORM vector_loads, \op\()_xmm_clears_ymm, NEED_AVX
	vpcmpeqd %ymm11, %ymm11, %ymm11
	\op	16(%rsi), %xmm11
	vmovdqu	%ymm11, (%rdi)
END
FORM vector_loads, \op\()_ymm, NEED_AVX
	\op	32(%rsi), %ymm15
	vmovdqu	%ymm15, (%rdi)
END
.endr
.irp op, vmovd, vmovq, vmovss, vmovsd
FORM vector_loads, \op, NEED_AVX
	vpcmpeqd %ymm1, %ymm1, %ymm1
	\op	(%rsi), %xmm1
	vmovdqu	%ymm1, (%rdi)
END
.endr
.irp op, vmovaps, vmovups, vmovdqa32, vmovdqa64, vmovdqu8, vmovdqu16, vmovdqu32, vmovdqu64, vmovntdqa
FORM vector_loads, \op\()_zmm, NEED_AVX512
	\op	64(%rsi), %zmm8
	vmovdqu64 %zmm8, (%rdi)
END
FORM vector_loads, \op\()_zmm29, NEED_AVX512
	\op	64(%rsi), %zmm29
	vmovdqu64 %zmm29, (%rdi)
END
FORM vector_loads, \op\()_xmm19_clears, NEED_AVX512
	vpternlogd $0xff, %zmm19, %zmm19, %zmm19
	\op	64(%rsi), %xmm19
	vmovdqu64 %zmm19, (%rdi)
END
.endr
FORM vector_loads, vmovdqu_clears_zmm, NEED_AVX512
	vpternlogd $0xff, %zmm3, %zmm3, %zmm3
	vmovdqu	(%rsi), %ymm3
	vmovdqu64 %zmm3, (%rdi)
END

/* ---- RIP-relative, on a page next to the code ---- */
	.globl	store_rip_relative
store_rip_relative:
	mov	%rdi, bar_page+72(%rip)
	ret
	.globl	store_rip_relative_imm
store_rip_relative_imm:
	movl	$0x11223344, bar_page+80(%rip)
	ret

/* ---- Not carried out ---- */
	.globl	locked_add
locked_add:
	lock addl $1, (%rdi)
	ret
	.globl	exchange
exchange:
	xchg	%rax, (%rdi)
	ret
	.globl	add_to
add_to:
	addq	$1, (%rdi)
	ret
	.globl	push_from
push_from:
	push	(%rdi)
	pop	%rax
	ret
	.globl	through_fs
through_fs:
	mov	%fs:0, %rax
	sub	%rax, %rdi
	mov	%rsi, %fs:(%rdi)
	ret
	.section .note.GNU-stack, "", @progbits
